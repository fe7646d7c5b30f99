//! Expressions as a tree. Nodes lie in one list and name each other by number, so that neither making nor dropping a
//! tree recurses, however the text is nested.

use crate::value::Value;

/// The number of a node.
pub(crate) type Id = u32;

/// Two-sided operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Matches,
    Contains,
    StartsWith,
    EndsWith,
    Range,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Coalesce,
}

/// One-sided operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Minus,
    Plus,
}

/// One node.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Constant(Value),
    Name(String),
    /// `#`, `#index`, `#acc`.
    Pointer(String),
    /// The operator with the word people wrote (`and` for `&&`), for messages.
    Binary(Binary, String, Id, Id),
    Unary(Unary, String, Id),
    Conditional(Id, Id, Id),
    /// `let name = value; rest`.
    Let(String, Id, Id),
    /// Evaluates both, gives the second.
    Sequence(Id, Id),
    /// Member access; `optional` for `?.`.
    Member {
        base: Id,
        key: Id,
        optional: bool,
    },
    /// The end of a chain with `?.` in it: nil when any of them met nil.
    Chain(Id),
    Slice {
        base: Id,
        from: Option<Id>,
        to: Option<Id>,
    },
    /// A function by name.
    Call {
        name: String,
        arguments: Vec<Id>,
    },
    /// A method of a value: `d.Minutes()`.
    Method {
        base: Id,
        name: String,
        arguments: Vec<Id>,
    },
    /// What a function does with each item.
    Predicate(Id),
    List(Vec<Id>),
    Map(Vec<(Id, Id)>),
}

/// A tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ast {
    nodes: Vec<Node>,
    depths: Vec<u32>,
    pub(crate) root: Id,
}

impl Ast {
    pub(crate) fn node(&self, id: Id) -> &Node {
        &self.nodes[id as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn depth(&self, id: Id) -> usize {
        self.depths[id as usize] as usize
    }

    pub(crate) fn add(&mut self, node: Node) -> Id {
        let depth = self.depth_of(&node);
        self.nodes.push(node);
        self.depths.push(depth);
        self.nodes.len() as Id - 1
    }

    /// How deep a walk over the node recurses. Chains of two-sided operators to the left are walked in a loop.
    fn depth_of(&self, node: &Node) -> u32 {
        let at = |id: &Id| self.depths[*id as usize];
        let below = match node {
            Node::Constant(_) | Node::Name(_) | Node::Pointer(_) => 0,
            Node::Binary(_, _, left, right) => {
                let left_is_chain = matches!(self.node(*left), Node::Binary(..));
                let left = if left_is_chain { at(left).saturating_sub(1) } else { at(left) };
                left.max(at(right))
            }
            Node::Unary(_, _, id) | Node::Chain(id) | Node::Predicate(id) => at(id),
            Node::Conditional(a, b, c) => at(a).max(at(b)).max(at(c)),
            Node::Let(_, a, b) | Node::Sequence(a, b) => at(a).max(at(b)),
            Node::Member { base, key, .. } => at(base).max(at(key)),
            Node::Slice { base, from, to } => {
                [Some(base), from.as_ref(), to.as_ref()].into_iter().flatten().map(at).max().unwrap_or(0)
            }
            Node::Call { arguments, .. } | Node::List(arguments) => arguments.iter().map(at).max().unwrap_or(0),
            Node::Method { base, arguments, .. } => arguments.iter().chain([base]).map(at).max().unwrap_or(0),
            Node::Map(entries) => entries.iter().flat_map(|(a, b)| [at(a), at(b)]).max().unwrap_or(0),
        };
        below + 1
    }
}
