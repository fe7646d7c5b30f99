//! The inside of an action: `$x := command operand | command`.

use tidegate_expr::Value;

use crate::MAX_DEPTH;
use crate::ast::{Command, Kind, Operand, Pipeline};
use crate::error::Problem;
use crate::functions;
use crate::lexer::{Token, Word};

type Parsed<T> = Result<T, Problem>;

/// The words of one action and where we are in them.
pub(crate) struct Words {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// Where the action begins.
    position: usize,
}

impl Words {
    pub(crate) fn new(tokens: Vec<Token>, position: usize) -> Self {
        Self { tokens, at: 0, depth: 0, position }
    }

    pub(crate) fn peek(&self) -> Option<&Word> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    pub(crate) fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn position(&self) -> usize {
        self.tokens.get(self.at).map_or(self.position, |token| token.position)
    }

    /// Nothing more may stand here.
    pub(crate) fn finish(&self) -> Parsed<()> {
        match self.tokens.get(self.at) {
            None => Ok(()),
            Some(token) => Err(Problem::new(token.position, format!("unexpected {} in action", token.kind.text()))),
        }
    }

    /// A text must stand here.
    pub(crate) fn text(&mut self, place: &str) -> Parsed<String> {
        let position = self.position();
        match self.next().map(|token| token.kind) {
            Some(Word::Constant(Value::Text(text))) => Ok(text.to_string()),
            _ => Err(Problem::new(position, format!("a quoted name must stand in the {place}"))),
        }
    }

    /// A pipeline; `names` is how many variables it may declare in a head (`if`, `range`), 0 for one anywhere else.
    pub(crate) fn pipeline(&mut self, variables: &mut Vec<String>, names: usize) -> Parsed<Pipeline> {
        let position = self.position();
        let (declared, is_assignment) = self.names(variables, names.max(1))?;
        let mut commands = Vec::new();
        loop {
            commands.push(self.command(variables, commands.is_empty())?);
            match self.peek() {
                Some(Word::Pipe) => self.at += 1,
                _ => break,
            }
        }
        if !is_assignment {
            variables.extend(declared.iter().cloned());
        }
        Ok(Pipeline { names: declared, is_assignment, commands, position })
    }

    /// `$x :=`, `$x =`, and `$i, $x :=` where two are allowed.
    fn names(&mut self, variables: &[String], most: usize) -> Parsed<(Vec<String>, bool)> {
        let mut names = Vec::new();
        let start = self.at;
        while let Some(Word::Variable(name)) = self.peek().cloned() {
            self.at += 1;
            names.push(name);
            match self.peek() {
                Some(Word::Comma) if names.len() < most => self.at += 1,
                Some(Word::Comma) => {
                    return Err(Problem::new(self.position(), "too many variables are declared here"));
                }
                Some(Word::Declare) => {
                    self.at += 1;
                    return Ok((names, false));
                }
                Some(Word::Assign) => {
                    let position = self.tokens.get(start).map_or(self.position, |token| token.position);
                    for name in &names {
                        known(variables, name, position)?;
                    }
                    self.at += 1;
                    return Ok((names, true));
                }
                _ => break,
            }
        }
        self.at = start;
        Ok((Vec::new(), false))
    }

    fn command(&mut self, variables: &mut Vec<String>, is_first: bool) -> Parsed<Command> {
        let mut operands: Vec<Operand> = Vec::new();
        let start = self.position();
        while !matches!(self.peek(), None | Some(Word::Pipe | Word::Close)) {
            if !operands.is_empty() && !self.tokens.get(self.at).is_some_and(|token| token.is_spaced) {
                let token = self.peek().map(Word::text).unwrap_or_default();
                return Err(Problem::new(self.position(), format!("unexpected {token}; a blank is missing before it")));
            }
            operands.push(self.operand(variables)?);
        }
        let Some(first) = operands.first() else {
            return Err(Problem::new(start, "missing value for command"));
        };
        let can_be_called =
            matches!(first.kind, Kind::Function(_) | Kind::Field(_) | Kind::Variable(..) | Kind::Group(..));
        if matches!(first.kind, Kind::Nil) {
            return Err(Problem::new(start, "nil is not a command"));
        }
        if !can_be_called && !is_first {
            return Err(Problem::new(start, "non executable command in pipeline"));
        }
        Ok(Command { operands })
    }

    fn operand(&mut self, variables: &mut Vec<String>) -> Parsed<Operand> {
        let position = self.position();
        let Some(token) = self.next() else { return Err(Problem::new(position, "an operand is missing")) };
        let kind = match token.kind {
            Word::Dot => Kind::Dot,
            Word::Constant(value) => Kind::Constant(value),
            Word::Field(name) => {
                let mut path = vec![name];
                self.path(&mut path);
                Kind::Field(path)
            }
            Word::Variable(name) => {
                known(variables, &name, position)?;
                let mut path = Vec::new();
                self.path(&mut path);
                Kind::Variable(name, path)
            }
            Word::Name(name) if name == "nil" => Kind::Nil,
            Word::Name(name) if functions::exists(&name) => Kind::Function(name),
            Word::Name(name) => return Err(Problem::new(position, format!("function {name:?} not defined"))),
            Word::Open => self.group(variables, position)?,
            other => return Err(Problem::new(position, format!("unexpected {} in operand", other.text()))),
        };
        Ok(Operand { kind, position })
    }

    fn group(&mut self, variables: &mut Vec<String>, position: usize) -> Parsed<Kind> {
        if self.depth >= MAX_DEPTH {
            return Err(Problem::new(position, format!("parentheses are nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let pipeline = self.pipeline(variables, 0)?;
        self.depth -= 1;
        match self.next().map(|token| token.kind) {
            Some(Word::Close) => {}
            _ => return Err(Problem::new(position, "unclosed left paren")),
        }
        let mut path = Vec::new();
        self.path(&mut path);
        Ok(Kind::Group(Box::new(pipeline), path))
    }

    /// Fields that follow without a blank.
    fn path(&mut self, path: &mut Vec<String>) {
        while let Some(Token { kind: Word::Field(name), is_spaced: false, .. }) = self.tokens.get(self.at) {
            path.push(name.clone());
            self.at += 1;
        }
    }
}

fn known(variables: &[String], name: &str, position: usize) -> Parsed<()> {
    if variables.iter().any(|known| known == name) {
        return Ok(());
    }
    Err(Problem::new(position, format!("undefined variable \"${name}\"")))
}
