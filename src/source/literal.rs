//! Reads the Python literals of an .npy header: strings, whole numbers, True, False, lists, tuples, dicts.
//!
//! The text is untrusted. Nothing is evaluated and no name has a meaning; nesting stops at 8 levels and the
//! number of values at 32,768, so that the stack stays flat and memory stays small whatever the text says.
//! Where this reading could differ from Python's, the text is refused.

use std::str;

/// Levels of brackets: the dict, a record's fields, three nested records, a shape.
const MAX_DEPTH: usize = 8;
/// Bounds memory, here and in npyz: a value is far larger than the two bytes that can spell it.
const MAX_VALUES: usize = 32_768;

/// Why a text was refused: where, what would have been accepted, and what stands there.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) at: usize,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Trouble {
    pub(crate) fn new(at: usize, expected: impl Into<String>, found: impl Into<String>) -> Trouble {
        Trouble { at, expected: expected.into(), found: found.into() }
    }
}

/// A value and where it starts in the text.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) at: usize,
    pub(crate) value: Value,
}

/// A literal.
#[derive(Debug)]
pub(crate) enum Value {
    Text(String),
    Number(u64),
    Negative(u64),
    Truth(bool),
    List(Vec<Node>),
    Tuple(Vec<Node>),
    Dict(Vec<(Node, Node)>),
}

impl Value {
    /// The value in a few words, for messages.
    pub(crate) fn words(&self) -> String {
        match self {
            Value::Text(text) => format!("the string '{}'", short(text)),
            Value::Number(n) => format!("the number {n}"),
            Value::Negative(n) => format!("the number -{n}"),
            Value::Truth(truth) => if *truth { "True" } else { "False" }.into(),
            Value::List(items) => format!("a list of {}", items.len()),
            Value::Tuple(items) => format!("a tuple of {}", items.len()),
            Value::Dict(_) => "a dict".into(),
        }
    }
}

/// At most 40 characters of a text that came from a file, without control characters.
pub(crate) fn short(text: &str) -> String {
    let mut chars = text.chars();
    let mut out: String = chars.by_ref().take(40).flat_map(char::escape_debug).collect();
    if chars.next().is_some() {
        out.push_str("...");
    }
    out
}

/// Reads the one literal that a header consists of.
///
/// `utf8` is how format version 3 encodes text. Before it, text is Latin-1 and numbers may end in the `L`
/// of Python 2.
pub(crate) fn read(text: &[u8], utf8: bool) -> Result<Node, Trouble> {
    if let (true, Err(error)) = (utf8, str::from_utf8(text)) {
        return Err(Trouble::new(error.valid_up_to(), "UTF-8 text", "other bytes"));
    }
    let mut reader = Reader { text, at: 0, utf8, values: 0 };
    let node = reader.value(MAX_DEPTH)?;
    reader.space();
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.trouble("nothing but spaces after the dict")),
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    utf8: bool,
    values: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn peek_second(&self) -> Option<u8> {
        self.text.get(self.at + 1).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn trouble(&self, expected: impl Into<String>) -> Trouble {
        let found = match self.rest() {
            [] => "the end of the header".into(),
            rest => {
                let shown = String::from_utf8_lossy(rest.get(..24).unwrap_or(rest));
                format!("`{}`", short(shown.trim_end()))
            }
        };
        Trouble::new(self.at, expected, found)
    }

    fn space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' => self.at += 1,
                b'#' => {
                    let end = self.rest().iter().position(|byte| matches!(byte, b'\n' | b'\r' | 0));
                    self.at = end.map_or(self.text.len(), |length| self.at + length);
                }
                _ => return,
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Trouble> {
        self.space();
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.trouble(format!("at most {MAX_VALUES} values")));
        }
        let at = self.at;
        let value = match self.peek() {
            Some(b'{' | b'[' | b'(') if depth == 0 => {
                return Err(self.trouble(format!("at most {MAX_DEPTH} levels of brackets")));
            }
            Some(b'{') => Value::Dict(self.items(b'}', |reader| reader.entry(depth - 1))?.0),
            Some(b'[') => Value::List(self.items(b']', |reader| reader.value(depth - 1))?.0),
            Some(b'(') => return self.parentheses(at, depth - 1),
            Some(b'+' | b'-' | b'0'..=b'9') => self.signed()?,
            _ if self.at_string() => Value::Text(self.strings()?),
            Some(b'T' | b'F' | b'n') => self.word_value()?,
            Some(b'b' | b'B') if matches!(self.peek_second(), Some(b'\'' | b'"')) => {
                return Err(Trouble::new(at, "a string without the prefix b", "a bytes literal"));
            }
            _ => return Err(self.trouble("a string, number, True, False, list, tuple or dict")),
        };
        Ok(Node { at, value })
    }

    fn items<T>(
        &mut self,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<T, Trouble>,
    ) -> Result<(Vec<T>, bool), Trouble> {
        self.at += 1;
        let (mut items, mut comma) = (Vec::new(), false);
        loop {
            self.space();
            if self.eat(close) {
                return Ok((items, comma));
            }
            if !items.is_empty() && !comma {
                return Err(self.trouble(format!("`,` or `{}`", char::from(close))));
            }
            items.push(item(self)?);
            self.space();
            comma = self.eat(b',');
        }
    }

    fn entry(&mut self, depth: usize) -> Result<(Node, Node), Trouble> {
        let key = self.value(depth)?;
        self.space();
        if !self.eat(b':') {
            return Err(self.trouble("`:` after a key"));
        }
        Ok((key, self.value(depth)?))
    }

    /// As in Python, the comma makes the tuple: `(3,)` is one, `(3)` is a number.
    fn parentheses(&mut self, at: usize, depth: usize) -> Result<Node, Trouble> {
        let (mut items, comma) = self.items(b')', |reader| reader.value(depth))?;
        match (items.len(), comma, items.pop()) {
            (1, false, Some(only)) => Ok(only),
            (_, _, last) => {
                items.extend(last);
                Ok(Node { at, value: Value::Tuple(items) })
            }
        }
    }

    fn word(&mut self) -> &str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let in_word = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(byte));
        let word = rest.get(..in_word.count()).unwrap_or_default();
        self.at += word.len();
        str::from_utf8(word).unwrap_or_default()
    }

    fn word_value(&mut self) -> Result<Value, Trouble> {
        let start = self.at;
        let number = match self.word() {
            "True" => return Ok(Value::Truth(true)),
            "False" => return Ok(Value::Truth(false)),
            word => is_numpy_integer(word),
        };
        if number && self.eat(b'(') && matches!(self.peek(), Some(b'0'..=b'9')) {
            let value = self.number()?;
            if self.eat(b')') {
                return Ok(Value::Number(value));
            }
        }
        self.at = start;
        Err(self.trouble("True, False or a number: names and calls are not evaluated"))
    }

    fn signed(&mut self) -> Result<Value, Trouble> {
        let minus = self.eat(b'-');
        if minus || self.eat(b'+') {
            self.space();
        }
        match self.number()? {
            value if minus && value > 0 => Ok(Value::Negative(value)),
            value => Ok(Value::Number(value)),
        }
    }

    fn number(&mut self) -> Result<u64, Trouble> {
        let (start, python2) = (self.at, !self.utf8);
        let word = self.word();
        let digits = if python2 { word.strip_suffix('L').unwrap_or(word) } else { word };
        whole(digits).map_err(|expected| Trouble::new(start, expected, format!("`{}`", short(word))))
    }

    fn at_string(&self) -> bool {
        let prefixed = matches!(self.peek(), Some(b'u' | b'U'));
        let quote = if prefixed { self.peek_second() } else { self.peek() };
        matches!(quote, Some(b'\'' | b'"'))
    }

    /// One string, or several side by side, which Python joins.
    fn strings(&mut self) -> Result<String, Trouble> {
        let (start, mut out) = (self.at, Vec::new());
        while self.at_string() {
            self.at += usize::from(matches!(self.peek(), Some(b'u' | b'U')));
            self.quoted(&mut out)?;
            self.space();
        }
        String::from_utf8(out).map_err(|_| Trouble::new(start, "UTF-8 text", "other bytes"))
    }

    fn quoted(&mut self, out: &mut Vec<u8>) -> Result<(), Trouble> {
        let start = self.at;
        let quote = self.next();
        if self.peek() == quote && self.peek_second() == quote {
            return Err(Trouble::new(start, "a string in single quotes", "a string in triple quotes"));
        }
        loop {
            match self.next() {
                byte if byte == quote => return Ok(()),
                None | Some(b'\n' | b'\r' | 0) => {
                    return Err(Trouble::new(start, "a closing quote on the same line", "none"));
                }
                Some(b'\\') => self.escape(out)?,
                Some(byte) if self.utf8 => out.push(byte),
                Some(byte) => push(out, char::from(byte)),
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), Trouble> {
        let start = self.at - 1;
        let char = match self.next() {
            Some(byte @ (b'\\' | b'\'' | b'"')) => Some(char::from(byte)),
            Some(b'n') => Some('\n'),
            Some(b'r') => Some('\r'),
            Some(b't') => Some('\t'),
            Some(b'x') => self.hex(2),
            Some(b'u') => self.hex(4),
            Some(b'U') => self.hex(8),
            _ => None,
        };
        let Some(char) = char else {
            self.at = start;
            return Err(self.trouble(r#"one of the escapes \\ \' \" \n \r \t \x00 \u0000"#));
        };
        push(out, char);
        Ok(())
    }

    fn hex(&mut self, digits: usize) -> Option<char> {
        let text = self.rest().get(..digits)?;
        if !text.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let code = u32::from_str_radix(str::from_utf8(text).ok()?, 16).ok()?;
        self.at += digits;
        char::from_u32(code)
    }
}

fn push(out: &mut Vec<u8>, char: char) {
    out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}

/// NumPy 2 can write its own integers into a shape by name; the number inside is plain.
fn is_numpy_integer(word: &str) -> bool {
    let signed = word.strip_prefix("np.").map(|kind| kind.strip_prefix('u').unwrap_or(kind));
    matches!(signed, Some("int8" | "int16" | "int32" | "int64"))
}

/// A whole number as Python spells it, without its sign; or what was expected.
fn whole(word: &str) -> Result<u64, &'static str> {
    const PREFIXES: [(&str, u32); 6] = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)];
    let prefixed = PREFIXES.iter().find_map(|&(prefix, radix)| Some((word.strip_prefix(prefix)?, radix)));
    let (digits, radix) = prefixed.unwrap_or((word, 10));
    if digits.starts_with('_') || digits.ends_with('_') || digits.contains("__") {
        return Err("a whole number with single underscores between digits");
    }
    let digits = digits.replace('_', "");
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err("a whole number");
    }
    if radix == 10 && digits.starts_with('0') && digits.bytes().any(|digit| digit != b'0') {
        return Err("a whole number without leading zeros");
    }
    u64::from_str_radix(&digits, radix).map_err(|_| "a whole number below 2^64")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str, utf8: bool) -> Option<u64> {
        match read(text.as_bytes(), utf8).ok()?.value {
            Value::Number(n) => Some(n),
            _ => None,
        }
    }

    #[test]
    fn numbers_are_read_as_python_reads_them() {
        for (text, value) in [("3", 3), ("+3", 3), ("-0", 0), ("0x1F", 31), ("1_0", 10), ("(7)", 7)] {
            assert_eq!(number(text, true), Some(value), "{text}");
        }
        for text in ["03", "1__0", "1_", "0x", "3.0", "1e0", "++3", "3L", "18446744073709551616", "1+2"] {
            assert_eq!(number(text, true), None, "{text}");
        }
        assert_eq!(number("3L", false), Some(3));
        assert_eq!(number("np.int64(3)", true), Some(3));
        for text in ["np.int64(-3)", "np.int64(3", "np.int64", "np.float64(3)", "np.int64(np.int64(3))"] {
            assert_eq!(number(text, true), None, "{text}");
        }
    }

    #[test]
    fn strings_are_joined_and_unescaped_by_encoding() {
        let text = |bytes: &[u8], utf8| match read(bytes, utf8).map(|node| node.value) {
            Ok(Value::Text(text)) => Some(text),
            _ => None,
        };
        assert_eq!(text(br#"u'a' "b\x41\u00e9\n\'""#, true).as_deref(), Some("abA\u{e9}\n'"));
        assert_eq!(text(b"'\xe9'", false).as_deref(), Some("\u{e9}"));
        assert_eq!(text("'\u{e9}'".as_bytes(), true).as_deref(), Some("\u{e9}"));
        for bytes in [&b"'\xe9'"[..], b"'a", b"'a\n'", b"'\\ud800'", b"'\\xg1'", b"''' '", b"b'a'"] {
            assert_eq!(text(bytes, true), None, "{bytes:?}");
        }
    }

    #[test]
    fn deep_nesting_fits_a_small_stack() {
        for (open, close) in [("(", ")"), ("[", "]"), ("{'a':", "}")] {
            let text = open.repeat(5000) + "1" + &close.repeat(5000);
            let small = std::thread::Builder::new().stack_size(64 << 10);
            let read = small.spawn(move || read(text.as_bytes(), true).is_err());
            assert!(matches!(read.map(|thread| thread.join()), Ok(Ok(true))));
        }
    }
}
