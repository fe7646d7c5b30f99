//! Templates as trees. The parser bounds how deep they are, so that walks over them and drops may recurse.

use tidegate_expr::Value;

/// Statements one after the other.
pub(crate) type Body = Vec<Statement>;

/// One statement.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// Text as it stands.
    Text(String),
    /// `{{pipeline}}`.
    Print(Pipeline),
    /// `{{if}}`.
    If { condition: Pipeline, then: Body, otherwise: Body },
    /// `{{with}}`: the dot becomes the value.
    With { value: Pipeline, then: Body, otherwise: Body },
    /// `{{range}}`.
    Range { over: Pipeline, each: Body, otherwise: Body },
    /// `{{template "name" pipeline}}`, and what `{{block}}` leaves behind.
    Call { name: String, with: Option<Pipeline>, position: usize },
    /// `{{break}}`.
    Break,
    /// `{{continue}}`.
    Continue,
}

/// `$x := command | command`.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    /// Names that are declared or set.
    pub(crate) names: Vec<String>,
    /// Whether they exist already (`=`).
    pub(crate) is_assignment: bool,
    /// The commands.
    pub(crate) commands: Vec<Command>,
    /// Where it begins.
    pub(crate) position: usize,
}

/// Operands, the first of which may be called with the others.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) operands: Vec<Operand>,
}

/// One operand and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) kind: Kind,
    pub(crate) position: usize,
}

/// What an operand is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// `.`.
    Dot,
    /// `nil`.
    Nil,
    /// A number, text or bool.
    Constant(Value),
    /// `.a.b`.
    Field(Vec<String>),
    /// `$x.a.b`; the name without the sign.
    Variable(String, Vec<String>),
    /// A function by name.
    Function(String),
    /// `(..).a.b`.
    Group(Box<Pipeline>, Vec<String>),
}
