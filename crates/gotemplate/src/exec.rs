//! Writes a template, with a budget of steps and output.

use jiff::Timestamp;
use tidegate_expr::Value;

use crate::ast::{Body, Command, Kind, Operand, Pipeline, Statement};
use crate::error::Problem;
use crate::functions::{self, Call};
use crate::{MAX_CALLS, MAX_OUTPUT, MAX_STEPS, MAX_WORK, Template, TemplateError, fields, print};

/// A value, or none where a field does not exist: `<no value>`.
pub(crate) type Slot = Option<Value>;
type Ran<T> = Result<T, Problem>;

/// How a body ended.
#[derive(Clone, Copy, PartialEq)]
enum Flow {
    On,
    Break,
    Continue,
}

/// Writes a template.
pub(crate) fn run(template: &Template, data: &Value, now: Timestamp) -> Result<String, TemplateError> {
    let mut machine = Machine {
        template,
        now,
        out: String::new(),
        variables: vec![(String::new(), Some(data.clone()))],
        steps: MAX_STEPS,
        work: MAX_WORK,
        calls: 0,
    };
    match machine.body(&template.body, &Some(data.clone())) {
        Ok(_) => Ok(machine.out),
        Err(problem) => Err(TemplateError::at(&template.name, &template.text, problem.position, problem.text)),
    }
}

struct Machine<'a> {
    template: &'a Template,
    now: Timestamp,
    out: String,
    variables: Vec<(String, Slot)>,
    steps: usize,
    work: usize,
    calls: usize,
}

impl Machine<'_> {
    fn step(&mut self, position: usize) -> Ran<()> {
        match self.steps.checked_sub(1) {
            Some(rest) => {
                self.steps = rest;
                Ok(())
            }
            None => Err(Problem::new(position, "the template takes too many steps")),
        }
    }

    fn write(&mut self, text: &str, position: usize) -> Ran<()> {
        if self.out.len() + text.len() > MAX_OUTPUT {
            return Err(Problem::new(position, format!("the template writes more than {MAX_OUTPUT} bytes")));
        }
        self.out.push_str(text);
        Ok(())
    }

    fn body(&mut self, body: &Body, dot: &Slot) -> Ran<Flow> {
        for statement in body {
            let flow = self.statement(statement, dot)?;
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn statement(&mut self, statement: &Statement, dot: &Slot) -> Ran<Flow> {
        match statement {
            Statement::Text(text) => {
                self.step(0)?;
                self.write(text, 0)?;
            }
            Statement::Print(pipeline) => {
                let value = self.pipeline(pipeline, dot)?;
                // Declarations and assignments print nothing.
                if pipeline.names.is_empty() {
                    let text = value.map_or_else(|| "<no value>".to_owned(), |value| print::top(&value));
                    self.write(&text, pipeline.position)?;
                }
            }
            Statement::If { condition, then, otherwise } => {
                return self.scoped(|machine| {
                    let value = machine.pipeline(condition, dot)?;
                    machine.body(if fields::truth(&value) { then } else { otherwise }, dot)
                });
            }
            Statement::With { value, then, otherwise } => {
                return self.scoped(|machine| {
                    let value = machine.pipeline(value, dot)?;
                    if fields::truth(&value) { machine.body(then, &value) } else { machine.body(otherwise, dot) }
                });
            }
            Statement::Range { over, each, otherwise } => {
                return self.scoped(|machine| machine.range(over, each, otherwise, dot));
            }
            Statement::Call { name, with, position } => self.call_template(name, with.as_ref(), *position, dot)?,
            Statement::Break => return Ok(Flow::Break),
            Statement::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::On)
    }

    /// Variables declared inside are gone after it.
    fn scoped<T>(&mut self, run: impl FnOnce(&mut Self) -> Ran<T>) -> Ran<T> {
        let scope = self.variables.len();
        let outcome = run(self);
        self.variables.truncate(scope);
        outcome
    }

    fn call_template(&mut self, name: &str, with: Option<&Pipeline>, position: usize, dot: &Slot) -> Ran<()> {
        let data = with.map_or(Ok(None), |pipeline| self.pipeline(pipeline, dot))?;
        let Some(body) = self.template.named.get(name) else {
            return Err(Problem::new(position, format!("template {name:?} not defined")));
        };
        if self.calls >= MAX_CALLS {
            return Err(Problem::new(position, format!("templates call each other more than {MAX_CALLS} deep")));
        }
        self.calls += 1;
        let variables = std::mem::replace(&mut self.variables, vec![(String::new(), data.clone())]);
        let outcome = self.body(body, &data);
        self.variables = variables;
        self.calls -= 1;
        outcome.map(drop)
    }

    fn range(&mut self, over: &Pipeline, each: &Body, otherwise: &Body, dot: &Slot) -> Ran<Flow> {
        // The names of a range are set for each item, not to the whole.
        let value = self.commands(over, dot)?;
        let items = fields::items(value, over.position)?;
        self.work = self.work.saturating_sub(items.len() * size_of::<Value>());
        if self.work == 0 {
            return Err(Problem::new(over.position, "the template takes too much work"));
        }
        if items.is_empty() {
            return self.body(otherwise, dot);
        }
        let scope = self.variables.len();
        for (key, item) in items {
            self.step(over.position)?;
            let item = Some(item);
            let bound = if over.names.len() == 2 { vec![Some(key), item.clone()] } else { vec![item.clone()] };
            for (name, value) in over.names.iter().zip(bound) {
                self.bind(name, value, over.is_assignment, over.position)?;
            }
            let flow = self.body(each, &item)?;
            self.variables.truncate(scope);
            if flow == Flow::Break {
                break;
            }
        }
        Ok(Flow::On)
    }

    fn bind(&mut self, name: &str, value: Slot, is_assignment: bool, position: usize) -> Ran<()> {
        if !is_assignment {
            self.variables.push((name.to_owned(), value));
            return Ok(());
        }
        match self.variables.iter_mut().rev().find(|(known, _)| known == name) {
            Some((_, place)) => {
                *place = value;
                Ok(())
            }
            None => Err(Problem::new(position, format!("undefined variable: ${name}"))),
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, dot: &Slot) -> Ran<Slot> {
        let value = self.commands(pipeline, dot)?;
        for name in &pipeline.names {
            self.bind(name, value.clone(), pipeline.is_assignment, pipeline.position)?;
        }
        Ok(value)
    }

    fn commands(&mut self, pipeline: &Pipeline, dot: &Slot) -> Ran<Slot> {
        let mut value = None;
        for (index, command) in pipeline.commands.iter().enumerate() {
            self.step(pipeline.position)?;
            let last = (index > 0).then(|| value.take());
            value = self.command(command, dot, last)?;
        }
        Ok(value)
    }

    /// One command; `last` is what the command before it gave.
    fn command(&mut self, command: &Command, dot: &Slot, last: Option<Slot>) -> Ran<Slot> {
        let Some((first, rest)) = command.operands.split_first() else { return Ok(None) };
        if let Kind::Function(name) = &first.kind {
            return self.function(name, first.position, rest, dot, last);
        }
        let takes_arguments = !rest.is_empty() || last.is_some();
        if !takes_arguments {
            return self.operand(first, dot);
        }
        let mut given = rest.iter().map(|operand| self.operand(operand, dot)).collect::<Ran<Vec<_>>>()?;
        given.extend(last);
        let given: Vec<Value> = given.into_iter().map(|slot| slot.unwrap_or(Value::Nil)).collect();
        let (base, path) = match &first.kind {
            Kind::Field(path) => (dot.clone(), path.as_slice()),
            Kind::Variable(name, path) => (self.variable(name), path.as_slice()),
            Kind::Group(pipeline, path) => (self.pipeline(pipeline, dot)?, path.as_slice()),
            _ => (None, [].as_slice()),
        };
        let Some((method, path)) = path.split_last() else {
            return Err(Problem::new(first.position, "can't give argument to non-function"));
        };
        let base = fields::path(base, path, first.position)?;
        fields::call_method(&base, method, &given, first.position)
    }

    fn variable(&self, name: &str) -> Slot {
        self.variables.iter().rev().find(|(known, _)| known == name).and_then(|(_, value)| value.clone())
    }

    fn operand(&mut self, operand: &Operand, dot: &Slot) -> Ran<Slot> {
        self.step(operand.position)?;
        match &operand.kind {
            Kind::Dot => Ok(dot.clone()),
            Kind::Nil => Ok(Some(Value::Nil)),
            Kind::Constant(value) => Ok(Some(value.clone())),
            Kind::Field(path) => fields::path(dot.clone(), path, operand.position),
            Kind::Variable(name, path) => fields::path(self.variable(name), path, operand.position),
            Kind::Function(name) => self.function(name, operand.position, &[], dot, None),
            Kind::Group(pipeline, path) => {
                let value = self.pipeline(pipeline, dot)?;
                fields::path(value, path, operand.position)
            }
        }
    }

    fn function(
        &mut self,
        name: &str,
        position: usize,
        operands: &[Operand],
        dot: &Slot,
        last: Option<Slot>,
    ) -> Ran<Slot> {
        if matches!(name, "and" | "or") {
            return self.lazy(name, position, operands, dot, last);
        }
        let mut given = Vec::with_capacity(operands.len() + 1);
        for operand in operands {
            given.push(self.operand(operand, dot)?);
        }
        given.extend(last);
        let mut call = Call { given: &given, now: self.now, work: &mut self.work };
        let value = functions::call(name, &mut call)
            .map_err(|text| Problem::new(position, format!("error calling {name}: {text}")))?;
        if matches!(name, "set" | "unset") {
            self.remember(operands, &value);
        }
        Ok(value)
    }

    /// Maps are values here; `set $map ..` changes the map of that variable, which is what people write it for.
    fn remember(&mut self, operands: &[Operand], value: &Slot) {
        let Some(Operand { kind: Kind::Variable(name, path), .. }) = operands.first() else { return };
        if path.is_empty()
            && let Some((_, place)) = self.variables.iter_mut().rev().find(|(known, _)| known == name)
        {
            *place = value.clone();
        }
    }

    /// `and` and `or` look no further than they must.
    fn lazy(&mut self, name: &str, position: usize, operands: &[Operand], dot: &Slot, last: Option<Slot>) -> Ran<Slot> {
        let mut value = None;
        let mut has_any = false;
        for operand in operands {
            value = self.operand(operand, dot)?;
            has_any = true;
            if fields::truth(&value) == (name == "or") {
                return Ok(value);
            }
        }
        match last {
            Some(last) => Ok(last),
            None if has_any => Ok(value),
            None => Err(Problem::new(position, format!("wrong number of args for {name}: want at least 1 got 0"))),
        }
    }
}
