//! Objects in protobuf, as kubectl sends those that it makes itself (`kubectl create configmap`). They are read into the
//! same JSON that others send; the server never writes protobuf.
//!
//! `tables/numbers.txt` has the numbers of the fields on the wire, `name=number`; `>Type=number` is an embedded type,
//! whose fields are those of the type around it in JSON.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::shape::zero;
use super::table::{self, Table, Type};
use crate::encoding::base64;

const NUMBERS: &str = include_str!("tables/numbers.txt");
/// What every body begins with.
const MAGIC: &[u8] = b"k8s\0";
/// The deepest nesting, the same as of JSON.
const DEEPEST: usize = 128;

type Numbers = BTreeMap<&'static str, BTreeMap<u64, &'static str>>;

fn numbers() -> &'static Numbers {
    static READ: OnceLock<Numbers> = OnceLock::new();
    READ.get_or_init(|| {
        let mut numbers = Numbers::new();
        let mut current = "";
        for line in NUMBERS.lines() {
            let mut words = line.split_whitespace();
            if !line.starts_with(' ') {
                current = words.next().unwrap_or_default();
            }
            let fields = words.filter_map(|word| word.split_once('=')).filter_map(|(n, i)| Some((i.parse().ok()?, n)));
            numbers.entry(current).or_default().extend(fields);
        }
        numbers
    })
}

/// Reads a body: the envelope with kind and version, and the object in it.
pub(super) fn read(body: &[u8]) -> Result<Value, String> {
    let envelope = body.strip_prefix(MAGIC).ok_or("the body does not begin as protobuf of Kubernetes does")?;
    let (mut kind, mut version, mut raw) = (String::new(), String::new(), &[][..]);
    each(envelope, |number, wire| {
        match (number, wire) {
            (1, Wire::Bytes(about)) => each(about, |number, wire| {
                let place = if number == 1 { &mut version } else { &mut kind };
                *place = wire.text()?;
                Ok(())
            })?,
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
        Ok(())
    })?;
    let name = match (version.as_str(), kind.as_str()) {
        ("autoscaling/v2", "HorizontalPodAutoscaler") => "v2.HorizontalPodAutoscaler",
        (_, kind) => kind,
    };
    let name = table::known(name).ok_or_else(|| format!("no kind {kind:?} can be read from protobuf"))?;
    let mut object = Map::new();
    message(raw, name, table::table(name), &mut object, 0)?;
    object.insert("kind".to_owned(), json!(kind));
    object.insert("apiVersion".to_owned(), json!(version));
    Ok(Value::Object(object))
}

/// A value on the wire.
#[derive(Clone, Copy, Debug)]
enum Wire<'a> {
    Number(u64),
    Float(f64),
    Bytes(&'a [u8]),
}

impl Wire<'_> {
    fn text(self) -> Result<String, String> {
        match self {
            Self::Bytes(bytes) => String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string()),
            _ => Err("a text was expected".to_owned()),
        }
    }

    /// A number, negative ones in their complement.
    fn number(self) -> i64 {
        match self {
            Self::Number(number) => number.cast_signed(),
            _ => 0,
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }
}

/// Calls a function for each field of a message.
fn each<'a>(bytes: &'a [u8], mut found: impl FnMut(u64, Wire<'a>) -> Result<(), String>) -> Result<(), String> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let key = varint(&mut rest)?;
        let wire = match key & 7 {
            0 => Wire::Number(varint(&mut rest)?),
            1 => Wire::Float(f64::from_le_bytes(take(&mut rest, 8)?.try_into().unwrap_or_default())),
            2 => {
                let length = usize::try_from(varint(&mut rest)?).unwrap_or(usize::MAX);
                Wire::Bytes(take(&mut rest, length)?)
            }
            5 => Wire::Bytes(take(&mut rest, 4)?),
            other => return Err(format!("proto: illegal wireType {other}")),
        };
        found(key >> 3, wire)?;
    }
    Ok(())
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], String> {
    let (taken, left) = rest.split_at_checked(length).ok_or("unexpected EOF")?;
    *rest = left;
    Ok(taken)
}

fn varint(rest: &mut &[u8]) -> Result<u64, String> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)?.first().copied().unwrap_or_default();
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err("proto: integer overflow".to_owned())
}

/// Reads a message of a type into the fields of an object; of an embedded type that is the object around it.
fn message(
    bytes: &[u8],
    name: &str,
    table: &'static Table,
    object: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), String> {
    if depth > DEEPEST {
        return Err("exceeded max depth".to_owned());
    }
    let Some(numbers) = numbers().get(name) else { return Ok(()) };
    each(bytes, |number, wire| match numbers.get(&number) {
        None => Ok(()),
        Some(field) => match field.strip_prefix('>') {
            Some(embedded) => message(wire.bytes(), embedded, table, object, depth + 1),
            None => match table.find(field) {
                Some(found) => set(object, field, &found.kind, wire, depth),
                None => Ok(()),
            },
        },
    })
}

/// Sets a field. What is empty and not behind a pointer was not given: everything is on the wire, whether it was or not.
fn set(
    object: &mut Map<String, Value>,
    name: &str,
    kind: &'static Type,
    wire: Wire<'_>,
    depth: usize,
) -> Result<(), String> {
    match kind {
        Type::Pointer(inner) if !matches!(**inner, Type::List(..) | Type::Map(..)) => {
            let value = one(inner, wire, depth)?.unwrap_or_else(|| zero(inner));
            object.insert(name.to_owned(), value);
        }
        Type::Pointer(inner) => set(object, name, inner, wire, depth)?,
        Type::List(inner, _) => {
            let value = one(inner, wire, depth)?.unwrap_or_else(|| zero(inner));
            if let Value::Array(items) = object.entry(name).or_insert_with(|| json!([])) {
                items.push(value);
            }
        }
        Type::Map(inner, _) => {
            let (mut key, mut value) = (String::new(), None);
            each(wire.bytes(), |number, wire| {
                match number {
                    1 => key = wire.text()?,
                    2 => value = one(inner, wire, depth)?,
                    _ => {}
                }
                Ok(())
            })?;
            if let Value::Object(map) = object.entry(name).or_insert_with(|| json!({})) {
                map.insert(key, value.unwrap_or_else(|| zero(inner)));
            }
        }
        _ => {
            if let Some(value) = one(kind, wire, depth)? {
                object.insert(name.to_owned(), value);
            }
        }
    }
    Ok(())
}

/// One value; none if it is the zero of its type.
fn one(kind: &'static Type, wire: Wire<'_>, depth: usize) -> Result<Option<Value>, String> {
    let number = wire.number();
    Ok(match kind {
        Type::Pointer(inner) => one(inner, wire, depth)?,
        Type::Text(_) => Some(wire.text()?).filter(|text| !text.is_empty()).map(Value::from),
        Type::Bytes => Some(json!(base64(wire.bytes()))),
        Type::Bool(_) => (number != 0).then_some(json!(true)),
        Type::Int32(_) | Type::Int64(_) => (number != 0).then(|| json!(number)),
        Type::Float(_) => match wire {
            Wire::Float(float) if float != 0.0 => Some(json!(float)),
            _ => None,
        },
        Type::Time | Type::MicroTime => time(wire.bytes())?,
        Type::Duration => {
            let nanos = first(wire.bytes())?.map_or(0, Wire::number);
            (nanos != 0).then(|| json!(format!("{}ns", nanos)))
        }
        Type::Quantity => first(wire.bytes())?.map(Wire::text).transpose()?.map(Value::from),
        Type::IntOrString => Some(int_or_string(wire.bytes())?),
        Type::Any => match first(wire.bytes())? {
            Some(raw) => Some(crate::json::read(raw.bytes())?.value),
            None => None,
        },
        Type::Struct(structure) => {
            let mut object = Map::new();
            message(wire.bytes(), structure.name, structure.table(), &mut object, depth + 1)?;
            Some(Value::Object(object))
        }
        Type::List(..) | Type::Map(..) => None,
    })
}

/// Field 1 of a message.
fn first(bytes: &[u8]) -> Result<Option<Wire<'_>>, String> {
    let mut found = None;
    each(bytes, |number, wire| {
        if number == 1 {
            found = Some(wire);
        }
        Ok(())
    })?;
    Ok(found)
}

fn time(bytes: &[u8]) -> Result<Option<Value>, String> {
    let (mut seconds, mut nanos) = (None, 0);
    each(bytes, |number, wire| {
        match number {
            1 => seconds = Some(wire.number()),
            _ => nanos = i32::try_from(wire.number()).unwrap_or(0),
        }
        Ok(())
    })?;
    let Some(seconds) = seconds else { return Ok(None) };
    Timestamp::new(seconds, nanos).map(|time| Some(json!(time.to_string()))).map_err(|error| error.to_string())
}

fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    each(bytes, |field, wire| {
        match field {
            1 => is_text = wire.number() == 1,
            2 => number = wire.number(),
            3 => text = wire.text()?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(if is_text { json!(text) } else { json!(number) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with bytes in it.
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
    }

    fn body(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let about = [field(1, version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &about), field(2, raw)].concat()
    }

    #[test]
    fn an_object_is_read_as_its_json_would_be() {
        let metadata = [field(1, b"a"), field(3, b""), field(8, &[])].concat();
        let entry = [field(1, b"x"), field(2, b"1")].concat();
        let raw = [field(1, &metadata), field(2, &entry)].concat();
        let expected = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}});
        assert_eq!(read(&body("v1", "ConfigMap", &raw)), Ok(expected));
    }

    #[test]
    fn what_is_behind_a_pointer_is_kept_though_it_is_zero_and_embedded_types_lie_flat() {
        let probe = field(1, &field(3, &field(1, &[0x08, 1, 0x10, 0, 0x1a, 2, b'a', b'b'])));
        let container = [field(1, b"c"), field(10, &probe)].concat();
        let spec = field(3, &field(2, &field(2, &container)));
        let raw = field(2, &[vec![0x08, 0], spec].concat());
        let read = read(&body("apps/v1", "Deployment", &raw)).unwrap();
        assert_eq!(read["spec"]["replicas"], 0);
        let probe = &read["spec"]["template"]["spec"]["containers"][0]["livenessProbe"];
        assert_eq!(*probe, json!({"tcpSocket": {"port": "ab"}}));
    }

    #[test]
    fn fields_of_what_people_make_have_numbers() {
        for kind in
            ["ConfigMap", "Secret", "Deployment", "PodSpec", "Container", "ObjectMeta", "ServiceSpec", "JobSpec"]
        {
            let known = &numbers()[kind];
            for field in table::table(kind).fields.iter().filter(|field| !field.path.contains('.')) {
                let is_typed = matches!(field.name, "kind" | "apiVersion");
                assert!(is_typed || known.values().any(|name| *name == field.name), "{kind} {}", field.name);
            }
        }
    }

    #[test]
    fn garbage_is_refused() {
        for bytes in [&b""[..], b"{}", b"k8s\0\xff", b"k8s\0\x0a\xff\xff\xff\xff\x7f", b"k8s\0\x0f"] {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
        assert!(read(&body("v1", "Nope", &[])).is_err());
    }
}
