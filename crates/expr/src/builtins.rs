//! Which functions there are and what they take.

use crate::types::Type;

/// An argument of a function that looks at each item of a list.
pub(crate) struct Argument {
    pub(crate) is_predicate: bool,
    pub(crate) is_optional: bool,
}

const LIST: Argument = Argument { is_predicate: false, is_optional: false };
const EACH: Argument = Argument { is_predicate: true, is_optional: false };
const EACH_OR_NONE: Argument = Argument { is_predicate: true, is_optional: true };
const MORE: Argument = Argument { is_predicate: false, is_optional: true };

/// The arguments of a function with `#` in it; `None` for all others.
pub(crate) fn predicate_shape(name: &str) -> Option<&'static [Argument]> {
    Some(match name {
        "all" | "none" | "any" | "one" | "filter" | "map" | "find" | "findIndex" | "findLast" | "findLastIndex"
        | "groupBy" => &[LIST, EACH],
        "count" | "sum" => &[LIST, EACH_OR_NONE],
        "sortBy" | "reduce" => &[LIST, EACH, MORE],
        _ => return None,
    })
}

/// What a plain function takes at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Anything,
    Text,
    Whole,
    Number,
    NumberOrText,
    NumbersOrList,
    Sized,
    List,
    Map,
    Parts,
}

impl Takes {
    /// Whether a value of that type may be given; what is only known at run time may.
    pub(crate) fn accepts(self, given: &Type) -> bool {
        given.is_any()
            || match self {
                Self::Anything => true,
                Self::Text => matches!(given, Type::Text),
                Self::Whole => matches!(given, Type::Int),
                Self::Number => given.is_number(),
                Self::NumberOrText => given.is_number() || matches!(given, Type::Text),
                Self::NumbersOrList => given.is_number() || given.is_list(),
                Self::Sized => given.is_list() || matches!(given, Type::Text | Type::Bytes | Type::Map | Type::Pairs),
                Self::List => given.is_list(),
                Self::Map => matches!(given, Type::Map | Type::Pairs),
                Self::Parts => given.is_list() || matches!(given, Type::Map | Type::Pairs | Type::Text),
            }
    }

    /// The type as messages name it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Anything => "interface {}",
            Self::Text => "string",
            Self::Whole => "int",
            Self::Number | Self::NumberOrText | Self::NumbersOrList => "float64",
            Self::Sized | Self::List => "[]interface {}",
            Self::Map | Self::Parts => "map[string]interface {}",
        }
    }
}

/// What a plain function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gives {
    Bool,
    Int,
    Float,
    Text,
    Time,
    Duration,
    Any,
    List,
    Texts,
    /// The type of the first argument.
    Same,
    /// An item of the first argument.
    Item,
}

/// A plain function.
pub(crate) struct Function {
    pub(crate) takes: &'static [Takes],
    /// How many of them must be given.
    pub(crate) required: usize,
    /// Whether the last may be given any number of times.
    pub(crate) is_variadic: bool,
    pub(crate) gives: Gives,
}

fn function(takes: &'static [Takes], required: usize, gives: Gives) -> Option<Function> {
    Some(Function { takes, required, is_variadic: false, gives })
}

fn variadic(takes: &'static [Takes], gives: Gives) -> Option<Function> {
    Some(Function { takes, required: 1, is_variadic: true, gives })
}

/// A plain function by name; `with_result` adds those that belong to measured values.
pub(crate) fn plain(name: &str, with_result: bool) -> Option<Function> {
    use Takes::{Anything, List, Map, Number, NumberOrText, NumbersOrList, Parts, Sized, Text, Whole};
    match name {
        "isNaN" | "isInf" => function(&[Number], 1, Gives::Bool),
        "asInt" if with_result => function(&[Anything], 1, Gives::Int),
        "asFloat" if with_result => function(&[Anything], 1, Gives::Float),
        "isNil" if with_result => function(&[Anything], 1, Gives::Bool),
        "default" if with_result => function(&[Anything, Anything], 2, Gives::Any),
        "len" => function(&[Sized], 1, Gives::Int),
        "type" | "string" | "toJSON" => function(&[Anything], 1, Gives::Text),
        "abs" => function(&[Number], 1, Gives::Same),
        "ceil" | "floor" | "round" => function(&[Number], 1, Gives::Float),
        "int" => function(&[NumberOrText], 1, Gives::Int),
        "float" => function(&[NumberOrText], 1, Gives::Float),
        "upper" | "lower" | "toBase64" | "fromBase64" | "timezone" => function(&[Text], 1, Gives::Text),
        "trim" | "trimPrefix" | "trimSuffix" => function(&[Text, Text], 1, Gives::Text),
        "split" | "splitAfter" => function(&[Text, Text, Whole], 2, Gives::Texts),
        "replace" => function(&[Text, Text, Text, Whole], 3, Gives::Text),
        "repeat" => function(&[Text, Whole], 2, Gives::Text),
        "join" => function(&[List, Text], 1, Gives::Text),
        "indexOf" | "lastIndexOf" => function(&[Text, Text], 2, Gives::Int),
        "hasPrefix" | "hasSuffix" => function(&[Text, Text], 2, Gives::Bool),
        "max" | "min" => variadic(&[NumbersOrList], Gives::Any),
        "mean" | "median" => variadic(&[NumbersOrList], Gives::Float),
        "fromJSON" => function(&[Text], 1, Gives::Any),
        "now" => function(&[], 0, Gives::Time),
        "duration" => function(&[Text], 1, Gives::Duration),
        "date" => function(&[Text, Text, Text], 1, Gives::Time),
        "first" | "last" => function(&[List], 1, Gives::Item),
        "get" => function(&[Parts, Anything], 2, Gives::Any),
        "take" => function(&[List, Whole], 2, Gives::Same),
        "keys" | "values" | "toPairs" => function(&[Map], 1, Gives::List),
        "fromPairs" => function(&[List], 1, Gives::Any),
        "reverse" => function(&[List], 1, Gives::Same),
        "uniq" | "flatten" => function(&[List], 1, Gives::List),
        "sort" => function(&[List, Text], 1, Gives::List),
        "concat" => variadic(&[List], Gives::List),
        "bitand" | "bitor" | "bitxor" | "bitnand" | "bitshl" | "bitshr" | "bitushr" => {
            function(&[Whole, Whole], 2, Gives::Int)
        }
        "bitnot" => function(&[Whole], 1, Gives::Int),
        _ => None,
    }
}

/// Why an argument cannot be given, in the words of the function.
pub(crate) fn refusal(name: &str, takes: Takes, given: &str) -> String {
    match name {
        "len" | "abs" | "ceil" | "floor" | "round" | "int" | "float" | "max" | "min" | "mean" | "median" => {
            format!("invalid argument for {name} (type {given})")
        }
        "first" | "last" => format!("cannot get {name} element from {given}"),
        "get" => format!("type {given} does not support indexing"),
        "keys" | "values" => format!("cannot get {name} from {given}"),
        // The blank at the end is part of the words people know.
        "sort" if takes == Takes::List => format!("cannot use {given} as argument (type []int) to call sort "),
        _ => format!("cannot use {given} as argument (type {}) to call {name} ", takes.text()),
    }
}

/// Methods of times and durations: what they take and give.
pub(crate) fn method(base: &Type, name: &str) -> Option<(&'static [Type], Gives)> {
    const TIME: &[Type] = &[Type::Time];
    const DURATION: &[Type] = &[Type::Duration];
    const TEXT: &[Type] = &[Type::Text];
    Some(match (base, name) {
        (Type::Duration, "Hours" | "Minutes" | "Seconds") => (&[], Gives::Float),
        (Type::Duration, "Milliseconds" | "Microseconds" | "Nanoseconds") => (&[], Gives::Int),
        (Type::Duration, "String") | (Type::Time, "String") => (&[], Gives::Text),
        (Type::Duration, "Abs") => (&[], Gives::Duration),
        (Type::Duration, "Round" | "Truncate") => (DURATION, Gives::Duration),
        (
            Type::Time,
            "Year" | "Month" | "Day" | "Hour" | "Minute" | "Second" | "Nanosecond" | "Weekday" | "YearDay" | "Unix"
            | "UnixMilli" | "UnixNano",
        ) => (&[], Gives::Int),
        (Type::Time, "Add") => (DURATION, Gives::Time),
        (Type::Time, "Sub") => (TIME, Gives::Duration),
        (Type::Time, "Before" | "After" | "Equal") => (TIME, Gives::Bool),
        (Type::Time, "UTC") => (&[], Gives::Time),
        (Type::Time, "Format") => (TEXT, Gives::Text),
        _ => return None,
    })
}
