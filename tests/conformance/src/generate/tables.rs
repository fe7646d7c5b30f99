//! Tables, as `kubectl get` asks for them.

use super::Maker;
use crate::sequence::{Request, Sequence};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// The sequence of a seed; always the same.
pub fn tables(seed: u64) -> Sequence {
    let mut maker = Maker::new(seed ^ 0x007A_B1E5);
    let length = maker.random.between(6, 14);
    let requests: Vec<Request> = (0..length).map(|_| maker.around_a_table()).collect();
    Sequence { seed, requests: requests.into_iter().enumerate().collect() }
}

impl Maker {
    fn around_a_table(&mut self) -> Request {
        match self.random.weighted(&[22, 10, 12, 8, 40, 8]) {
            0 => self.create(),
            1 => self.update(),
            2 => self.subresource(),
            3 => self.delete(),
            4 => self.table(),
            _ => self.patch(),
        }
    }

    fn table(&mut self) -> Request {
        let (kind, name) = self.target();
        let (topic, path) =
            if self.random.chance(50) { ("table/list", kind.collection()) } else { ("table/get", kind.object(name)) };
        let request = Request::new(topic, "GET", path).about(kind.resource).header("accept", TABLE);
        match self.random.below(4) {
            0 => request.query("includeObject", "None"),
            1 => request.query("includeObject", "Object"),
            _ => request,
        }
    }
}
