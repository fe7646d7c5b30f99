//! Rollouts and objects out of a seed, and what holds for all of them.

use serde_json::{Value, json};

use crate::setup::{Setup, exact, span};
use crate::world::World;

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

    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        for index in (1..all.len()).rev() {
            all.swap(index, self.below(index + 1));
        }
    }

    pub(crate) fn weight(&mut self) -> Value {
        match self.below(8) {
            0 => json!(0),
            1 => json!(100),
            2 => json!(25.0),
            3 => json!(null),
            _ => json!(self.below(40)),
        }
    }

    /// A weight, experiments that run and are over, header routes for those who can.
    pub(crate) fn wishes(&mut self, mut setup: Setup, has_headers: bool) -> Setup {
        let total = setup.canary.traffic_routing.as_ref().unwrap().max_traffic_weight.unwrap_or(100);
        setup.weight = *self.of(&[0, total, total / 2, total / 3]);
        for service in ["shop-x-a", "shop-x-b"] {
            match self.below(4) {
                0 => setup = setup.experiment(service, self.below(30) as i32),
                1 => {
                    setup.former.insert(service.to_owned());
                }
                _ => {}
            }
        }
        for name in ["m1", "m2"] {
            if has_headers && self.one_in(2) {
                setup = setup.header(name, exact("x-user", name));
            }
        }
        setup
    }

    /// The same world with parts of one object replaced by anything; kinds and names stay.
    pub(crate) fn mangled(&mut self, world: &World) -> World {
        let mut world = world.clone();
        let count = world.0.len();
        for _ in 0..=self.below(3) {
            let index = self.below(count);
            let Some(((kind, namespace, name), object)) = world.0.iter_mut().nth(index) else { continue };
            self.mangle(object, 0);
            let (kind, namespace, name) = (kind.clone(), namespace.clone(), name.clone());
            if let Some(fields) = object.as_object_mut() {
                fields.insert("kind".to_owned(), json!(kind));
                if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                    metadata.insert("name".to_owned(), json!(name));
                    metadata.insert("namespace".to_owned(), json!(namespace));
                }
            }
        }
        world
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
            json!("shop-canary"),
            json!("m1"),
            json!(-1),
            json!(1e300),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(2.5),
            json!(true),
            json!([[]]),
            json!([null]),
            json!([{"name": "shop-stable"}]),
            json!({"name": "shop-canary"}),
            json!({"shop": 7}),
            json!("{\"shop\":7}"),
            json!(["a", 1]),
        ];
        self.of(&all).clone()
    }
}

/// Edit twice = edit once; what is not the router's stays byte for byte; what is read afterwards is as wanted; and
/// whoever cannot be helped is told why. `strip` takes out of an object what the router may change. Whether there was
/// no error.
pub(crate) fn check(setup: &Setup, world: &World, strip: impl Fn(&Value) -> Value) -> bool {
    let read = setup.read(world);
    let changes = match setup.edit(world) {
        Ok(changes) => changes,
        Err(error) => {
            assert!(error.to_string().len() > 10 && !read.is_as_wanted, "{error}");
            return false;
        }
    };
    let mut after = world.clone();
    after.apply(&changes, setup.now);
    for (key, object) in &world.0 {
        let Some(other) = after.0.get(key) else { continue };
        if changes.iter().any(|change| change.object.name == key.2 && change.object.resource.kind == key.0) {
            assert_eq!(strip(object).to_string(), strip(other).to_string(), "{object}");
        } else {
            assert_eq!(object.to_string(), other.to_string());
        }
    }
    assert!(changes.iter().all(|change| !change.written.is_empty()));
    let again = setup.edit(&after).unwrap();
    assert!(again.iter().all(|change| change.body().is_none()), "{again:?} after {changes:?} of {world:?}");
    let read = setup.read(&after);
    assert!(read.is_as_wanted && read.problems.is_empty(), "{read:?} in {after:?}");
    true
}

/// The weights of every place are those wanted, as parts of a total, less what others hold.
pub(crate) fn check_weights(setup: &Setup, world: &World, total: i64, takes_experiments: bool) {
    let Ok(changes) = setup.edit(world) else { return };
    let mut after = world.clone();
    after.apply(&changes, setup.now);
    let read = setup.read(&after);
    for route in &read.routes {
        let own = route.canary + route.stable + route.additional.values().sum::<i64>();
        let others = route.total - own;
        if others < total {
            assert_eq!(route.total, total, "{after:?}");
            assert_eq!(route.canary, i64::from(setup.weight).min(total - others), "{after:?}");
        } else {
            assert_eq!((route.canary, setup.weight), (0, 0), "{after:?}");
        }
        assert!(takes_experiments || route.additional.is_empty());
    }
    let has_others = read
        .routes
        .iter()
        .any(|route| route.total != route.canary + route.stable + route.additional.values().sum::<i64>());
    if !has_others && !read.routes.is_empty() {
        assert_eq!(read.canary(), span(i64::from(setup.weight)));
        for found in setup.experiments.iter().filter(|_| takes_experiments) {
            let left = total - i64::from(setup.weight);
            let wished = i64::from(found.weight.unwrap());
            if left >= 60 {
                assert_eq!(read.additional(found.service_name.as_deref().unwrap()), span(wished), "{after:?}");
            }
        }
    }
}
