//! The command line of `python3`: which program, which arguments. It reads no file and runs nothing.

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Run {
        program: Program,
        arguments: Vec<String>,
    },
    Version,
}

/// Where the program comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// `-c TEXT`
    Code(String),
    /// `-m NAME`
    Module(String),
    File(String),
    /// `-`, or nothing at all.
    Stdin,
}

/// Options that hold here whether they are given or not: nothing is cached, no environment of a user is read, no
/// directory of a user is looked into.
const HOLD_ANYWAY: &str = "BEIsSuq";

/// Reads the arguments that stand behind `python3`. An error names the option that is not possible.
pub fn parse(arguments: &[String]) -> Result<Request, String> {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let run = |program| {
            let arguments = rest.clone().cloned().collect();
            Ok(Request::Run { program, arguments })
        };
        let Some(options) = argument
            .strip_prefix('-')
            .filter(|options| !options.is_empty())
        else {
            return run(if argument == "-" {
                Program::Stdin
            } else {
                Program::File(argument.clone())
            });
        };
        if matches!(argument.as_str(), "--version" | "-V" | "-VV") {
            return Ok(Request::Version);
        }
        // Options may be joined: `-uc CODE`, `-cCODE`.
        for (at, option) in options.char_indices() {
            if HOLD_ANYWAY.contains(option) {
                continue;
            }
            let joined = &options[at + option.len_utf8()..];
            let mut value = || match joined {
                "" => rest.next().cloned(),
                joined => Some(joined.to_owned()),
            };
            let program = match option {
                'c' => value().map(Program::Code),
                'm' => value().map(Program::Module),
                _ => return Err(format!("the option {argument} is not possible here")),
            };
            let Some(program) = program else {
                return Err(format!("the option -{option} needs a value"));
            };
            let arguments = rest.cloned().collect();
            return Ok(Request::Run { program, arguments });
        }
    }
    Ok(Request::Run {
        program: Program::Stdin,
        arguments: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[&str], program: Program, arguments: &[&str]) {
        let line: Vec<String> = line.iter().map(ToString::to_string).collect();
        let arguments = arguments.iter().map(ToString::to_string).collect();
        assert_eq!(parse(&line), Ok(Request::Run { program, arguments }));
    }

    fn refused(line: &[&str]) -> String {
        let line: Vec<String> = line.iter().map(ToString::to_string).collect();
        parse(&line).unwrap_err()
    }

    #[test]
    fn the_four_sources_of_a_program_are_told_apart() {
        check(
            &["a.py", "-x", "1"],
            Program::File("a.py".into()),
            &["-x", "1"],
        );
        check(
            &["-c", "print(1)", "-m"],
            Program::Code("print(1)".into()),
            &["-m"],
        );
        check(
            &["-m", "json.tool", "a"],
            Program::Module("json.tool".into()),
            &["a"],
        );
        check(&["-", "a"], Program::Stdin, &["a"]);
        check(&[], Program::Stdin, &[]);
    }

    #[test]
    fn options_that_hold_anyway_are_taken_joined_or_not() {
        check(&["-u", "-B", "a.py"], Program::File("a.py".into()), &[]);
        check(&["-uIc", "1"], Program::Code("1".into()), &[]);
        check(&["-c1"], Program::Code("1".into()), &[]);
        check(&["-u"], Program::Stdin, &[]);
    }

    #[test]
    fn other_options_are_refused_by_name() {
        assert_eq!(
            refused(&["-i", "a.py"]),
            "the option -i is not possible here"
        );
        assert_eq!(
            refused(&["--help"]),
            "the option --help is not possible here"
        );
        assert_eq!(refused(&["-c"]), "the option -c needs a value");
    }

    #[test]
    fn the_version_is_told() {
        for option in ["--version", "-V", "-VV"] {
            assert_eq!(parse(&[option.into()]), Ok(Request::Version));
        }
    }
}
