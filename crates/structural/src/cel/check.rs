//! Checks rules when a schema is read: names, fields and types must fit, so that a rule can be evaluated.

use super::ast::{Comprehension, Expression, Macro, Operator};
use super::functions::Function;
use super::types::{Type, type_value};
use super::unescape;
use crate::SchemaError;
use crate::node::{ListType, Node, Rule};
use crate::pattern::Pattern;
use crate::read::problem;
use crate::text::quote;

/// Checks the rules of a schema and of all below it.
pub(crate) fn check_rules(root: &Node) -> Result<(), SchemaError> {
    check_node(root, true, None)
}

/// `uncorrelated` is the list above whose elements cannot be found again in the old object.
fn check_node(node: &Node, is_root: bool, uncorrelated: Option<&str>) -> Result<(), SchemaError> {
    if !node.has_rules {
        return Ok(());
    }
    for rule in &node.rules {
        check_rule(node, rule, is_root, uncorrelated)?;
    }
    for child in node.children() {
        let is_items = node.items.as_deref().is_some_and(|items| std::ptr::eq(items, child));
        let lost = is_items && !matches!(node.list_type, ListType::Map(_));
        check_node(child, false, if lost { Some(&child.place) } else { uncorrelated })?;
    }
    Ok(())
}

fn check_rule(node: &Node, rule: &Rule, is_root: bool, uncorrelated: Option<&str>) -> Result<(), SchemaError> {
    let self_type = Type::of(node, is_root);
    let mut checker =
        Checker { names: vec![("self".to_owned(), self_type.clone()), ("oldSelf".to_owned(), self_type)] };
    let at = format!("{}.rule", rule.place);
    match checker.check(&rule.expression) {
        Err(error) => return problem(at, format!("Invalid value: compilation failed: ERROR: {error}")),
        Ok(Type::Bool | Type::Dyn) => {}
        Ok(_) => return problem(at, "Invalid value: cel expression must evaluate to a bool"),
    }
    if let Some(place) = uncorrelated.filter(|_| rule.transition) {
        return problem(
            at,
            format!(
                "Invalid value: {}: oldSelf cannot be used on the uncorrelatable portion of the schema within {place}",
                quote(&rule.source)
            ),
        );
    }
    if let Some(expression) = &rule.message_expression {
        let at = format!("{}.messageExpression", rule.place);
        match checker.check(expression) {
            Err(error) => {
                return problem(at, format!("Invalid value: messageExpression compilation failed: ERROR: {error}"));
            }
            Ok(Type::Text | Type::Dyn) => {}
            Ok(_) => return problem(at, "Invalid value: messageExpression must evaluate to a string"),
        }
    }
    let known = rule.field_path.iter().try_fold(node, |here, step| here.member(step)).is_some();
    if !known {
        let path: String = rule.field_path.iter().map(|step| format!(".{step}")).collect();
        return problem(
            format!("{}.fieldPath", rule.place),
            format!("Invalid value: {}: must be a valid path", quote(&path)),
        );
    }
    Ok(())
}

struct Checker<'a> {
    names: Vec<(String, Type<'a>)>,
}

type Checked<'a> = Result<Type<'a>, String>;

fn no_overload(name: &str, types: &[&Type<'_>]) -> String {
    let names: Vec<&str> = types.iter().map(|known| known.name().unwrap_or("dyn")).collect();
    format!("found no matching overload for '{name}' applied to '({})'", names.join(", "))
}

impl<'a> Checker<'a> {
    fn check(&mut self, expression: &Expression) -> Checked<'a> {
        match expression {
            Expression::Null => Ok(Type::Null),
            Expression::Bool(_) => Ok(Type::Bool),
            Expression::Int(_) => Ok(Type::Int),
            Expression::Double(_) => Ok(Type::Double),
            Expression::Text(_) => Ok(Type::Text),
            Expression::Name(name) => match self.names.iter().rev().find(|(known, _)| known == name) {
                Some((_, found)) => Ok(found.clone()),
                None if type_value(name).is_some() => Ok(Type::Name),
                None => Err(format!("undeclared reference to '{name}' (in container '')")),
            },
            Expression::Member(of, name) => member(&self.check(of)?, name),
            Expression::Has(of, name) => member(&self.check(of)?, name).map(|_| Type::Bool),
            Expression::Index(pair) => {
                let of = self.check(&pair.0)?;
                let index = self.check(&pair.1)?;
                indexed(of, &index)
            }
            Expression::Not(of) => self.operand(of, "!_", &["bool"]).map(|_| Type::Bool),
            Expression::Negate(of) => self.operand(of, "-_", &["int", "double"]),
            Expression::And(pair) => self.condition(pair, "_&&_"),
            Expression::Or(pair) => self.condition(pair, "_||_"),
            Expression::Binary(operator, pair) => {
                let left = self.check(&pair.0)?;
                let right = self.check(&pair.1)?;
                binary(*operator, left, right)
            }
            Expression::Choice(parts) => {
                self.operand(&parts.0, "_?_:_", &["bool"])?;
                let yes = self.check(&parts.1)?;
                let no = self.check(&parts.2)?;
                same("_?_:_", &yes, &no)?;
                Ok(if yes.name().is_none() { no } else { yes })
            }
            Expression::List(items) => self.list(items),
            Expression::Map(entries) => {
                for (key, value) in entries {
                    self.check(key)?;
                    self.check(value)?;
                }
                Ok(Type::Map(Box::new(Type::Dyn)))
            }
            Expression::Call(function, arguments) => self.call(*function, arguments),
            Expression::Over(over) => self.comprehend(over),
        }
    }

    /// An operand that must have one of some types.
    fn operand(&mut self, expression: &Expression, operator: &str, wanted: &[&str]) -> Checked<'a> {
        let found = self.check(expression)?;
        match found.name() {
            Some(name) if !wanted.contains(&name) => Err(no_overload(operator, &[&found])),
            _ => Ok(found),
        }
    }

    fn condition(&mut self, pair: &(Expression, Expression), operator: &str) -> Checked<'a> {
        self.operand(&pair.0, operator, &["bool"])?;
        self.operand(&pair.1, operator, &["bool"])?;
        Ok(Type::Bool)
    }

    fn list(&mut self, items: &[Expression]) -> Checked<'a> {
        let mut element = Type::Dyn;
        for (index, item) in items.iter().enumerate() {
            let found = self.check(item)?;
            if index == 0 {
                element = found;
            } else if element.name() != found.name() {
                element = Type::Dyn;
            }
        }
        Ok(Type::List(Box::new(element)))
    }

    fn call(&mut self, function: Function, arguments: &[Expression]) -> Checked<'a> {
        let types: Result<Vec<Type<'a>>, String> = arguments.iter().map(|argument| self.check(argument)).collect();
        let types = types?;
        let fits = |wanted: &[&str]| types.iter().all(|found| found.name().is_none_or(|name| wanted.contains(&name)));
        let result = match function {
            Function::Size => fits(&["string", "list", "map"]).then_some(Type::Int),
            Function::Int => fits(&["string", "int", "double"]).then_some(Type::Int),
            Function::Double => fits(&["string", "int", "double"]).then_some(Type::Double),
            Function::Text => fits(&["string", "int", "double", "bool"]).then_some(Type::Text),
            Function::Dyn => Some(Type::Dyn),
            Function::Type => Some(Type::Name),
            Function::Join => fits(&["list", "string"]).then_some(Type::Text),
            _ => fits(&["string"]).then_some(match function {
                Function::LowerAscii | Function::UpperAscii | Function::Trim => Type::Text,
                Function::Split => Type::List(Box::new(Type::Text)),
                _ => Type::Bool,
            }),
        };
        if let (Function::Matches, Some(Expression::Text(pattern))) = (function, arguments.get(1))
            && let Err(error) = Pattern::read(pattern)
        {
            return Err(format!("invalid matches argument: {error}"));
        }
        result.ok_or_else(|| no_overload(function.name(), &types.iter().collect::<Vec<_>>()))
    }

    fn comprehend(&mut self, over: &Comprehension) -> Checked<'a> {
        let range = self.check(&over.range)?;
        let element = match range {
            Type::List(element) => *element,
            Type::Map(_) => Type::Text,
            Type::Dyn => Type::Dyn,
            other => {
                return Err(format!(
                    "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                    other.name().unwrap_or("dyn")
                ));
            }
        };
        self.names.push((over.variable.clone(), element.clone()));
        let parts = self.comprehension_parts(over);
        self.names.pop();
        let body = parts?;
        Ok(match over.kind {
            Macro::Map => Type::List(Box::new(body)),
            Macro::Filter => Type::List(Box::new(element)),
            Macro::All | Macro::Exists | Macro::ExistsOne => Type::Bool,
        })
    }

    fn comprehension_parts(&mut self, over: &Comprehension) -> Checked<'a> {
        if let Some(condition) = &over.condition {
            self.operand(condition, "_?_:_", &["bool"])?;
        }
        let body = self.check(&over.body)?;
        match (over.kind, body.name()) {
            (Macro::Map, _) | (_, None | Some("bool")) => Ok(body),
            (_, Some(name)) => Err(format!("expected type 'bool' but found '{name}'")),
        }
    }
}

fn member<'a>(of: &Type<'a>, name: &str) -> Checked<'a> {
    match of {
        Type::Dyn => Ok(Type::Dyn),
        Type::Map(value) => Ok(value.as_ref().clone()),
        Type::Object(_, true) if matches!(name, "apiVersion" | "kind") => Ok(Type::Text),
        Type::Object(_, true) if name == "metadata" => Ok(Type::Metadata),
        Type::Metadata if matches!(name, "name" | "generateName") => Ok(Type::Text),
        Type::Object(node, _) => node
            .properties
            .get(name)
            .or_else(|| node.properties.get(&unescape(name)))
            // Fields of no type are invisible to rules.
            .filter(|field| field.kind.is_some() || field.int_or_string)
            .map(|field| Type::of(field, false))
            .ok_or_else(|| format!("undefined field '{name}'")),
        Type::Metadata => Err(format!("undefined field '{name}'")),
        other => Err(format!("type '{}' does not support field selection", other.name().unwrap_or("dyn"))),
    }
}

fn indexed<'a>(of: Type<'a>, index: &Type<'a>) -> Checked<'a> {
    match (&of, index.name()) {
        (Type::Dyn, _) => Ok(Type::Dyn),
        (Type::List(element), None | Some("int")) => Ok(element.as_ref().clone()),
        (Type::Map(value), None | Some("string" | "int" | "bool")) => Ok(value.as_ref().clone()),
        _ => Err(no_overload("_[_]", &[&of, index])),
    }
}

fn same(operator: &str, left: &Type<'_>, right: &Type<'_>) -> Result<(), String> {
    match (left.name(), right.name()) {
        (Some(a), Some(b)) if a != b => Err(no_overload(operator, &[left, right])),
        _ => Ok(()),
    }
}

fn binary<'a>(operator: Operator, left: Type<'a>, right: Type<'a>) -> Checked<'a> {
    let name = operator.name();
    let refuse = || Err(no_overload(name, &[&left, &right]));
    let among = |found: &Type<'_>, wanted: &[&str]| found.name().is_none_or(|name| wanted.contains(&name));
    match operator {
        Operator::Equal | Operator::NotEqual => same(name, &left, &right).map(|()| Type::Bool),
        Operator::In => match &right {
            Type::List(_) | Type::Map(_) | Type::Dyn => Ok(Type::Bool),
            _ => refuse(),
        },
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            if let (Type::Opaque(what), _) | (_, Type::Opaque(what)) = (&left, &right) {
                return Err(format!("comparing values of type {what} is not supported by this API"));
            }
            let numbers = ["int", "double"];
            if among(&left, &numbers) && among(&right, &numbers) {
                return Ok(Type::Bool);
            }
            let plain = ["int", "double", "string", "bool"];
            if among(&left, &plain) && among(&right, &plain) && same(name, &left, &right).is_ok() {
                return Ok(Type::Bool);
            }
            refuse()
        }
        Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Modulo => {
            let wanted: &[&str] = match operator {
                Operator::Add => &["int", "double", "string", "list"],
                Operator::Modulo => &["int"],
                _ => &["int", "double"],
            };
            if !among(&left, wanted) || !among(&right, wanted) || same(name, &left, &right).is_err() {
                return refuse();
            }
            Ok(if left.name().is_none() { right } else { left })
        }
    }
}
