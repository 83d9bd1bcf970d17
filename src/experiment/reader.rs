//! Reads the values of a TOML tree into the types of the model.
//!
//! A serde deserializer of its own, because errors need the key path, and `toml_edit`'s errors are sentences.

use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::{Deserializer, forward_to_deserialize_any};
use toml_edit::Value;

use super::node::Node;
use super::path::{KeyPath, Step};
use super::problem::{Problem, choice, refuse};

pub(super) fn read<'de, T: Deserialize<'de>>(node: Node<'de>, path: &KeyPath) -> Result<T, Problem> {
    Reader::new(node).read(path)
}

/// Reads the alternative that the key `tag` of the table `node` names, from the table's other keys without `common`.
pub(super) fn read_tagged<'de, T: Deserialize<'de>>(
    node: Node<'de>,
    tag: &'static str,
    common: &'static [&'static str],
    path: &KeyPath,
) -> Result<T, Problem> {
    Reader { node, tag: Some(tag), hidden: common }.read(path)
}

#[derive(Clone, Copy)]
struct Reader<'de> {
    node: Node<'de>,
    /// The key that names the alternative; without one the name is itself the key of the content.
    tag: Option<&'static str>,
    /// Keys that belong to no alternative, the tag among them.
    hidden: &'static [&'static str],
}

impl<'de> Reader<'de> {
    fn new(node: Node<'de>) -> Self {
        Self { node, tag: None, hidden: &[] }
    }

    fn read<T: Deserialize<'de>>(self, path: &KeyPath) -> Result<T, Problem> {
        T::deserialize(self)
            .map_err(|problem| path.steps().iter().rev().cloned().fold(problem, Problem::under))
    }

    fn not(self, expected: &str) -> Problem {
        Problem::invalid_type(self.node.found(), &expected)
    }

    fn tagged(self, tag: &'static str) -> Result<Choice<'de>, Problem> {
        match self.node.get(tag) {
            None => Err(Problem::missing_key(KeyPath::default(), tag)),
            Some(Node::Scalar(Value::String(name))) => {
                let content = Some(Self { tag: None, ..self });
                Ok(Choice { name: name.value(), content, tag: Some(tag) })
            }
            Some(other) => {
                let problem = Problem::invalid_type(other.found(), &"the name of one of the alternatives");
                Err(problem.under(Step::Key(tag.to_owned())))
            }
        }
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.node {
            Node::Table(_) | Node::Inline(_) => visitor.visit_map(Entries::new(self)),
            Node::Tables(_) | Node::List(_) => self.deserialize_seq(visitor),
            Node::Scalar(Value::String(text)) => visitor.visit_borrowed_str(text.value()),
            Node::Scalar(Value::Integer(number)) => visitor.visit_i64(*number.value()),
            Node::Scalar(Value::Float(number)) => visitor.visit_f64(*number.value()),
            Node::Scalar(Value::Boolean(value)) => visitor.visit_bool(*value.value()),
            Node::Scalar(_) => Err(Problem::invalid_type(self.node.found(), &visitor)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let Some(members) = self.node.members() else {
            return Err(self.not(match self.node {
                Node::Table(_) => "a list: its members have headers in double brackets, as in [[clients]]",
                _ => "a list in square brackets",
            }));
        };
        let length = members.len();
        let mut members = Members { members: members.into_iter(), next: 0 };
        let read = visitor.visit_seq(&mut members)?;
        if members.members.len() == 0 {
            return Ok(read);
        }
        Err(Problem::invalid_length(length, &format!("a list of {}", members.next).as_str()))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        if self.node.as_table().is_some() {
            return visitor.visit_map(Entries::new(self));
        }
        if matches!(self.node, Node::Tables(_)) {
            return Err(self.not("one table: its header has single brackets, as in [server]"));
        }
        Err(self.not(&format!("a table with keys of {}", fields.join(", "))))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        if let Some(tag) = self.tag {
            return visitor.visit_enum(self.tagged(tag)?);
        }
        if let Node::Scalar(Value::String(text)) = self.node {
            return visitor.visit_enum(Choice { name: text.value(), content: None, tag: None });
        }
        if self.node.as_table().is_none() {
            return Err(self.not(&format!("one of {}", variants.join(", "))));
        }
        let entries: Vec<(&str, Node<'de>)> = self.node.entries().collect();
        if let Some((unknown, _)) = entries.iter().find(|(name, _)| !variants.contains(name)) {
            let help = choice(unknown, "supported", variants);
            return Err(Problem { help: Some(help), ..Problem::unknown_key(KeyPath::to(unknown), variants) });
        }
        match entries[..] {
            [(name, content)] => {
                visitor.visit_enum(Choice { name, content: Some(Reader::new(content)), tag: None })
            }
            [] => refuse(KeyPath::default(), "is empty", choice("", "write one of", variants)),
            [(first, _), (second, _), ..] => refuse(
                KeyPath::default(),
                format_args!("has both `{first}` and `{second}`"),
                "keep one of them",
            ),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple_struct map identifier
    }
}

struct Entries<'de> {
    entries: std::vec::IntoIter<(&'de str, Node<'de>)>,
    value: Option<(&'de str, Node<'de>)>,
}

impl<'de> Entries<'de> {
    fn new(table: Reader<'de>) -> Self {
        let entries = table.node.entries().filter(|(key, _)| !table.hidden.contains(key));
        Self { entries: entries.collect::<Vec<_>>().into_iter(), value: None }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Problem> {
        self.value = self.entries.next();
        let key = self.value.map(|(key, _)| seed.deserialize(StrDeserializer::new(key)));
        key.transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Problem> {
        let (key, node) = self.value.take().expect("a value is asked for after its key");
        seed.deserialize(Reader::new(node)).map_err(|problem| problem.under(Step::Key(key.to_owned())))
    }
}

struct Members<'de> {
    members: std::vec::IntoIter<Node<'de>>,
    next: usize,
}

impl<'de> SeqAccess<'de> for Members<'de> {
    type Error = Problem;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Problem> {
        let Some(node) = self.members.next() else {
            return Ok(None);
        };
        let index = self.next;
        self.next += 1;
        let read = seed.deserialize(Reader::new(node));
        read.map(Some).map_err(|problem| problem.under(Step::Member(index)))
    }
}

/// One of several alternatives: a name, or a name with its content.
struct Choice<'de> {
    name: &'de str,
    content: Option<Reader<'de>>,
    /// The key that has the name for its value, if the name is not itself the key of the content.
    tag: Option<&'static str>,
}

impl<'de> Choice<'de> {
    fn content<T>(self, read: impl FnOnce(Reader<'de>) -> Result<T, Problem>) -> Result<T, Problem> {
        let key = self.name;
        let Some(reader) = self.content else {
            let what = format!("needs a value for `{key}`");
            return refuse(KeyPath::default(), what, format!("write {{ {key} = … }}"));
        };
        let found = read(reader);
        if self.tag.is_some() {
            return found;
        }
        found.map_err(|problem| problem.under(Step::Key(key.to_owned())))
    }
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = Problem;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Problem> {
        let name: StrDeserializer<'de, Problem> = self.name.into_deserializer();
        let variant = seed.deserialize(name).map_err(|problem| match self.tag {
            Some(tag) => problem.under(Step::Key(tag.to_owned())),
            None => problem,
        });
        Ok((variant?, self))
    }
}

impl<'de> VariantAccess<'de> for Choice<'de> {
    type Error = Problem;

    fn unit_variant(self) -> Result<(), Problem> {
        match self.content {
            None => Ok(()),
            Some(_) => Err(Problem::invalid_type(Unexpected::Map, &format!("\"{}\"", self.name).as_str())),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Problem> {
        self.content(|reader| seed.deserialize(reader))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Problem> {
        self.content(|reader| reader.deserialize_tuple(length, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.content(|reader| reader.deserialize_struct("", fields, visitor))
    }
}
