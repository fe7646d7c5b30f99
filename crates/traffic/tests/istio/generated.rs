//! Rollouts and VirtualServices out of a seed.

use serde_json::{Value, json};

use crate::setup::Setup;

pub(crate) const EXPERIMENTS: [&str; 2] = ["shop-x-a", "shop-x-b"];
pub(crate) const MANAGED: [&str; 3] = ["m1", "m2", "m3"];

/// Draws from a seed; the same seed gives the same draws.
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    fn weight(&mut self) -> Value {
        match self.below(8) {
            0 => json!(0),
            1 => json!(100),
            2 => json!(25.0),
            _ => json!(self.below(60)),
        }
    }

    /// A Rollout by host or by subset, with or without names, managed routes, experiments.
    pub(crate) fn setup(&mut self) -> Setup {
        let mut selectors = json!({});
        let fields = selectors.as_object_mut().unwrap();
        if self.one_in(2) {
            let names: Vec<&str> = (0..=self.below(2)).map(|_| *self.of(&["a", "b"])).collect();
            fields.insert("routes".to_owned(), json!(names));
        }
        if self.one_in(2) {
            fields.insert("tlsRoutes".to_owned(), json!([{"port": 443, "sniHosts": ["s"]}]));
        }
        if self.one_in(2) {
            fields.insert("tcpRoutes".to_owned(), json!([{"port": 443}]));
        }
        let mut setup = if self.one_in(2) { Setup::hosts(selectors) } else { Setup::subsets(selectors) };
        setup.total = *self.of(&[100, 100, 1000]);
        setup.weight = self.below(setup.total as usize + 1) as i32;
        setup = setup.managed(&MANAGED);
        for service in EXPERIMENTS {
            match self.below(4) {
                0 => setup = setup.experiment(service, "hash", self.below(30) as i32),
                1 => setup = setup.former(service),
                _ => {}
            }
        }
        if self.one_in(2) {
            setup.routes = Some(std::collections::BTreeMap::new());
            let header = json!({"match": [{"headerName": "x", "headerValue": {"exact": "1"}}, {"headerName": "y", "headerValue": {"prefix": "2"}}]});
            let mirror = json!({"percentage": 30, "match": [{"method": {"exact": "GET"}, "path": {"prefix": "/a"}}]});
            if self.one_in(2) {
                setup = setup.header("m2", header);
            }
            if self.one_in(2) {
                setup = setup.mirror("m1", mirror);
            }
        }
        setup
    }

    fn destination(&mut self, is_subset: bool, role: &str) -> Value {
        let tail = *self.of(&["", ".prod", ".prod.svc.cluster.local"]);
        let mut entry = match (is_subset, role) {
            (true, "stable" | "canary") => json!({"destination": {"host": format!("shop{tail}"), "subset": role}}),
            (false, "stable" | "canary") => json!({"destination": {"host": format!("shop-{role}{tail}")}}),
            (_, other) => json!({"destination": {"host": other}}),
        };
        let fields = entry.as_object_mut().unwrap();
        if !self.one_in(4) {
            fields.insert("weight".to_owned(), self.weight());
        }
        if self.one_in(4) {
            fields.insert("headers".to_owned(), json!({"response": {"add": {"set-cookie": "c=1"}}}));
        }
        entry
    }

    fn route(&mut self, is_subset: bool) -> Value {
        let mut roles = vec!["stable", "canary"];
        for other in ["partner", "legacy.prod", "shop-x-a", "shop-x-b", "", ".dot"] {
            if self.one_in(7) {
                roles.push(other);
            }
        }
        if self.one_in(10) {
            roles.push("canary");
        }
        if self.one_in(20) {
            roles.remove(0);
        }
        for index in (1..roles.len()).rev() {
            roles.swap(index, self.below(index + 1));
        }
        let list: Vec<Value> = roles.into_iter().map(|role| self.destination(is_subset, role)).collect();
        let mut route = json!({"route": list});
        let fields = route.as_object_mut().unwrap();
        if self.one_in(3) {
            fields.insert("match".to_owned(), json!([{"uri": {"prefix": "/a/b"}, "port": 443, "sniHosts": ["s"]}]));
        }
        if self.one_in(3) {
            fields.insert("timeout".to_owned(), json!("4s"));
            fields.insert("unknown".to_owned(), json!({"n": [1.25, null, {"deep": true}]}));
        }
        route
    }

    /// A VirtualService that fits the Rollout more often than not.
    pub(crate) fn virtual_service(&mut self, setup: &Setup) -> Value {
        let istio = setup.canary.traffic_routing.as_ref().unwrap().istio.as_ref().unwrap();
        let is_subset = istio.destination_rule.is_some();
        let has_names = setup.reference().routes.is_some();
        let mut spec = json!({"hosts": ["shop.example"], "gateways": ["mesh"], "future": {"a": [0.5]}});
        let fields = spec.as_object_mut().unwrap();
        if !self.one_in(5) {
            let mut names = if has_names { vec!["a", "b", "", "c"] } else { vec![*self.of(&["", "a"])] };
            names.extend(MANAGED.into_iter().filter(|_| self.one_in(4)));
            for index in (1..names.len()).rev() {
                names.swap(index, self.below(index + 1));
            }
            let named = |seed: &mut Self, name: &str| {
                let mut route = seed.route(is_subset);
                if !name.is_empty() {
                    route.as_object_mut().unwrap().insert("name".to_owned(), json!(name));
                }
                route
            };
            let list: Vec<Value> = names.into_iter().map(|name| named(self, name)).collect();
            fields.insert("http".to_owned(), json!(list));
        }
        for kind in ["tls", "tcp"] {
            if self.one_in(3) {
                let list: Vec<Value> = (0..=self.below(2)).map(|_| self.route(is_subset)).collect();
                fields.insert(kind.to_owned(), json!(list));
            }
        }
        crate::setup::virtual_service(spec)
    }

    /// The same with parts of it replaced by anything.
    pub(crate) fn mangled(&mut self, mut object: Value) -> Value {
        for _ in 0..=self.below(4) {
            self.mangle(&mut object, 0);
        }
        object
    }

    fn mangle(&mut self, value: &mut Value, depth: usize) {
        let goes_deeper = depth < 3 || !self.one_in(3);
        match value {
            Value::Array(items) if goes_deeper && !items.is_empty() => {
                let index = self.below(items.len());
                self.mangle(&mut items[index], depth + 1);
            }
            Value::Object(fields) if goes_deeper && !fields.is_empty() => {
                let index = self.below(fields.len());
                let inner = fields.values_mut().nth(index).unwrap();
                self.mangle(inner, depth + 1);
            }
            other => *other = self.junk(),
        }
    }

    fn junk(&mut self) -> Value {
        let all = [
            json!(null),
            json!([]),
            json!({}),
            json!(""),
            json!("canary"),
            json!("m1"),
            json!(-1),
            json!(1e300),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(2.5),
            json!(true),
            json!([[]]),
            json!([null]),
            json!([{"route": []}]),
            json!([{"destination": {}}]),
            json!({"host": ""}),
            json!({"name": "m2"}),
            json!(["a", 1]),
        ];
        self.of(&all).clone()
    }
}
