//! From pieces to a tree: blocks here, pipelines in `pipeline.rs`.

use std::collections::BTreeMap;
use std::vec::IntoIter;

use crate::ast::{Body, Pipeline, Statement};
use crate::error::Problem;
use crate::lexer::{Token, Word};
use crate::pipeline::Words;
use crate::scan::{self, Piece};
use crate::{MAX_DEPTH, MAX_LENGTH, Template, TemplateError};

type Parsed<T> = Result<T, Problem>;

/// Reads a template.
pub(crate) fn parse(name: &str, text: &str) -> Result<Template, TemplateError> {
    let failed = |problem: Problem| TemplateError::at(name, text, problem.position, problem.text);
    if text.len() > MAX_LENGTH {
        return Err(failed(Problem::new(0, format!("the template is longer than {MAX_LENGTH} bytes"))));
    }
    let pieces = scan::pieces(text).map_err(failed)?;
    let mut parser = Parser {
        pieces: pieces.into_iter(),
        named: BTreeMap::new(),
        variables: vec![String::new()],
        loops: 0,
        depth: 0,
    };
    let (body, end) = parser.body().map_err(failed)?;
    if let Some(end) = end {
        return Err(failed(Problem::new(end.position, format!("unexpected {{{{{}}}}}", end.word))));
    }
    Ok(Template { name: name.to_owned(), text: text.to_owned(), body, named: parser.named })
}

/// What ended a body: `end` or `else`, with what stands after it.
struct End {
    word: &'static str,
    words: Words,
    position: usize,
}

struct Parser {
    pieces: IntoIter<Piece>,
    named: BTreeMap<String, Body>,
    /// Variables in scope; the first is `$` itself.
    variables: Vec<String>,
    /// How many ranges are around.
    loops: usize,
    depth: usize,
}

impl Parser {
    /// Statements up to an `end` or `else` that belongs to somebody else, or to the end of the text.
    fn body(&mut self) -> Parsed<(Body, Option<End>)> {
        let mut body = Body::new();
        while let Some(piece) = self.pieces.next() {
            match piece {
                Piece::Text(text) => body.push(Statement::Text(text)),
                Piece::Action { tokens, position } => {
                    if let Some(end) = self.action(tokens, position, &mut body)? {
                        return Ok((body, Some(end)));
                    }
                }
            }
        }
        Ok((body, None))
    }

    fn action(&mut self, tokens: Vec<Token>, position: usize, body: &mut Body) -> Parsed<Option<End>> {
        let mut words = Words::new(tokens, position);
        let keyword = match words.peek() {
            Some(Word::Name(name)) => name.clone(),
            _ => String::new(),
        };
        let is_keyword = matches!(
            keyword.as_str(),
            "if" | "with" | "range" | "end" | "else" | "define" | "template" | "block" | "break" | "continue"
        );
        if !is_keyword {
            let pipeline = words.pipeline(&mut self.variables, 0)?;
            words.finish()?;
            body.push(Statement::Print(pipeline));
            return Ok(None);
        }
        words.next();
        match keyword.as_str() {
            "end" => {
                words.finish()?;
                return Ok(Some(End { word: "end", words, position }));
            }
            "else" => return Ok(Some(End { word: "else", words, position })),
            "if" | "with" | "range" => body.push(self.control(&keyword, words, position)?),
            "break" | "continue" => {
                words.finish()?;
                if self.loops == 0 {
                    return Err(Problem::new(position, format!("{{{{{keyword}}}}} outside {{{{range}}}}")));
                }
                body.push(if keyword == "break" { Statement::Break } else { Statement::Continue });
            }
            "template" => {
                let name = words.text("template clause")?;
                let with = if words.is_empty() { None } else { Some(words.pipeline(&mut self.variables, 0)?) };
                words.finish()?;
                body.push(Statement::Call { name, with, position });
            }
            "define" => {
                let name = words.text("define clause")?;
                words.finish()?;
                self.definition(name, position)?;
            }
            _ => {
                let name = words.text("block clause")?;
                let with = words.pipeline(&mut self.variables, 0)?;
                words.finish()?;
                self.definition(name.clone(), position)?;
                body.push(Statement::Call { name, with: Some(with), position });
            }
        }
        Ok(None)
    }

    /// Goes one level down and back up, unless that is too deep.
    fn deeper<T>(&mut self, position: usize, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Problem::new(position, format!("blocks are nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// A named template has no variables but `$` and is in no loop.
    fn definition(&mut self, name: String, position: usize) -> Parsed<()> {
        let variables = std::mem::replace(&mut self.variables, vec![String::new()]);
        let loops = std::mem::take(&mut self.loops);
        let (body, end) = self.deeper(position, Self::body)?;
        (self.variables, self.loops) = (variables, loops);
        match end {
            Some(end) if end.word == "end" => {
                self.named.insert(name, body);
                Ok(())
            }
            Some(end) => Err(Problem::new(end.position, "unexpected {{else}} in a named template")),
            None => Err(Problem::new(position, format!("the template {name:?} has no {{{{end}}}}"))),
        }
    }

    /// `if`, `with` and `range` with all that belongs to them.
    fn control(&mut self, keyword: &str, mut words: Words, position: usize) -> Parsed<Statement> {
        let scope = self.variables.len();
        let most_names = if keyword == "range" { 2 } else { 1 };
        let pipeline = words.pipeline(&mut self.variables, most_names)?;
        words.finish()?;
        let is_range = keyword == "range";
        self.loops += usize::from(is_range);
        let parsed = self.deeper(position, Self::body);
        self.loops -= usize::from(is_range);
        let (then, end) = parsed?;
        let otherwise = match end {
            None => return Err(Problem::new(position, format!("{{{{{keyword}}}}} has no {{{{end}}}}"))),
            Some(end) if end.word == "end" => Body::new(),
            Some(end) => self.otherwise(keyword, end)?,
        };
        self.variables.truncate(scope);
        Ok(statement(keyword, pipeline, then, otherwise))
    }

    /// What follows `else`: a body, or `if` or `with` with a body of its own.
    fn otherwise(&mut self, keyword: &str, end: End) -> Parsed<Body> {
        let End { mut words, position, .. } = end;
        if let Some(Word::Name(name)) = words.peek().cloned()
            && name == keyword
            && name != "range"
        {
            words.next();
            let inner = self.deeper(position, |parser| parser.control(&name, words, position))?;
            return Ok(vec![inner]);
        }
        words.finish()?;
        match self.deeper(position, Self::body)? {
            (body, Some(end)) if end.word == "end" => Ok(body),
            (_, Some(end)) => Err(Problem::new(end.position, "expected {{end}}, found {{else}}")),
            (_, None) => Err(Problem::new(position, "{{else}} has no {{end}}")),
        }
    }
}

fn statement(keyword: &str, pipeline: Pipeline, then: Body, otherwise: Body) -> Statement {
    match keyword {
        "if" => Statement::If { condition: pipeline, then, otherwise },
        "with" => Statement::With { value: pipeline, then, otherwise },
        _ => Statement::Range { over: pipeline, each: then, otherwise },
    }
}
