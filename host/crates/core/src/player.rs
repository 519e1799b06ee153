//! Who plays the roles of a run, by the names that command lines, suites and records have for them; and what a reader of the
//! scores must be told of that, decided here and nowhere else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::vocabulary::WireFormat;

/// The scripted agents.
pub const SCRIPTED: [&str; 4] = ["reference", "reactive", "nop", "cheat"];

/// An agent from outside. One that a hub played has a name of its own behind it: `external:NAME`.
pub const EXTERNAL: &str = "external";

/// Whether a name stands for an agent from outside.
pub fn is_external(name: &str) -> bool {
    name.strip_prefix(EXTERNAL)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// Before the name or the command of an agent that is a process of its own, and speaks the Agent Client Protocol.
pub const PROCESS: &str = "acp:";

/// The same of one that runs without confinement.
pub const UNCONFINED: &str = "acp-unconfined:";

/// The user agent and judge that match patterns.
pub const LEXICAL: &str = "lexical";

/// Whether a name stands for a model of a server.
pub fn is_model(name: &str) -> bool {
    !SCRIPTED.contains(&name) && name != LEXICAL && !is_external(name) && process(name).is_none()
}

/// The entry or the command of an agent that is a process of its own, and whether it is confined; None of any other player.
pub fn process(name: &str) -> Option<(&str, bool)> {
    let confined = name.strip_prefix(PROCESS).map(|what| (what, true));
    confined.or_else(|| Some((name.strip_prefix(UNCONFINED)?, false)))
}

/// What plays a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Player {
    /// A language model; of judges, one or several.
    Model,
    /// An agent without a model: `reference`, `reactive`, `nop`, `cheat`.
    Scripted,
    /// A user agent or judge that matches patterns: `lexical`.
    Patterns,
    /// An agent from outside, by `serve`.
    External,
    /// An agent that is a process of its own, confined: by the Agent Client Protocol.
    Process,
    /// The same without confinement: it could read what it was not told.
    Unconfined,
    /// Whoever it was in another program.
    Imported,
}

/// Who played each role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Players {
    pub agent: Player,
    pub user: Player,
    pub judge: Player,
}

/// What sets a run's scores apart from those of an agent that models judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// No role has a model.
    Scripted,
    /// An agent without a model before a user agent or judge with one.
    ScriptedAgent,
    /// A real agent before a user agent and a judge without a model.
    Patterns,
    /// Before such a user agent alone.
    PatternUser,
    /// Before such a judge alone.
    PatternJudge,
    /// An agent whose process could read what it was not told.
    Unconfined,
    Imported,
}

impl Players {
    pub const IMPORTED: Self = Self {
        agent: Player::Imported,
        user: Player::Imported,
        judge: Player::Imported,
    };

    /// By their names; that of several judges is no pattern's.
    pub fn named(agent: &str, user: &str, judge: &str) -> Self {
        let other = |name| match name {
            LEXICAL => Player::Patterns,
            _ => Player::Model,
        };
        Self {
            agent: match (agent, process(agent)) {
                (agent, _) if is_external(agent) => Player::External,
                (_, Some((_, true))) => Player::Process,
                (_, Some((_, false))) => Player::Unconfined,
                (agent, None) if SCRIPTED.contains(&agent) => Player::Scripted,
                _ => Player::Model,
            },
            user: other(user),
            judge: other(judge),
        }
    }

    /// Whether no role has a model: such scores test the host and say nothing of any agent.
    pub fn scripted(self) -> bool {
        self.agent == Player::Scripted
            && self.user == Player::Patterns
            && self.judge == Player::Patterns
    }

    /// What a reader must be told, in the order of importance; nothing of a real agent that models judged.
    pub fn marks(self) -> Vec<Mark> {
        let scripted = self.agent == Player::Scripted;
        let (user, judge) = (
            !scripted && self.user == Player::Patterns,
            !scripted && self.judge == Player::Patterns,
        );
        let marks = [
            (self.scripted(), Mark::Scripted),
            (scripted && !self.scripted(), Mark::ScriptedAgent),
            (user && judge, Mark::Patterns),
            (user && !judge, Mark::PatternUser),
            (judge && !user, Mark::PatternJudge),
            (self.agent == Player::Unconfined, Mark::Unconfined),
            (self.agent == Player::Imported, Mark::Imported),
        ];
        let marks = marks.into_iter().filter(|(is, _)| *is);
        marks.map(|(_, mark)| mark).collect()
    }
}

impl Mark {
    pub const ALL: [Self; 7] = [
        Self::Scripted,
        Self::ScriptedAgent,
        Self::Patterns,
        Self::PatternUser,
        Self::PatternJudge,
        Self::Unconfined,
        Self::Imported,
    ];

    /// Behind a name.
    pub fn words(self) -> &'static str {
        match self {
            Self::Scripted => "scripted",
            Self::ScriptedAgent => "scripted agent",
            Self::Patterns => "by patterns",
            Self::PatternUser => "user by patterns",
            Self::PatternJudge => "judged by patterns",
            Self::Unconfined => "unconfined agent",
            Self::Imported => "imported",
        }
    }

    /// Above and below scores.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Scripted => {
                "Scripted models: these scores test the suite and the host, not an agent."
            }
            Self::ScriptedAgent => {
                "Scripted agent: a fixed workflow was played; these scores test the user agent and the judge, not an agent."
            }
            Self::Patterns => {
                "User and judge by patterns: matching of words and not a model stood in for the user and the judge; these scores \
                 are not comparable with those that models judged, nor with published ones."
            }
            Self::PatternUser => {
                "User by patterns: matching of words and not a model stood in for the user; these scores are not comparable \
                 with those of runs whose user was a model, nor with published ones."
            }
            Self::PatternJudge => {
                "Judged by patterns: matching of words and not a model stood in for the judge; these scores are not \
                 comparable with those that models judged, nor with published ones."
            }
            Self::Unconfined => {
                "Unconfined agent: its process could read this machine, the suite with its hidden intents among it; nothing \
                 shows that it did not."
            }
            Self::Imported => {
                "Imported, not played here: the record and its verdicts are another program's."
            }
        }
    }

    /// Whether such a score says nothing beside one of an agent that models judged.
    pub fn is_apart(self) -> bool {
        ![Self::Imported, Self::Unconfined].contains(&self)
    }
}

/// What of a model's entries changes its answers, as it stands for one role: not where it is served, by which key, at what
/// price or how fast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSettings {
    /// As it was asked for: `PROVIDER/MODEL`, or a preset's name.
    pub name: String,
    /// The provider's name of the model.
    pub model: String,
    pub format: WireFormat,
    /// Whether a temperature is sent, until the model refuses one.
    pub temperature: bool,
    /// Whether it is shown pictures.
    pub vision: bool,
    /// The field in which its earlier thinking goes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub give_back: Option<String>,
    /// Fields of every request's body: the role's switch for thinking.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(agent: &str, user: &str, judge: &str) -> Vec<&'static str> {
        let marks = Players::named(agent, user, judge).marks();
        marks.into_iter().map(Mark::words).collect()
    }

    #[test]
    fn every_cast_has_its_marks() {
        assert_eq!(words("reference", "lexical", "lexical"), ["scripted"]);
        for (user, judge) in [("a/m", "lexical"), ("lexical", "a/m"), ("a/m", "a/m,b/m")] {
            assert_eq!(words("nop", user, judge), ["scripted agent"]);
        }
        for agent in ["a/m", "mine", "external", "acp:gemini --acp"] {
            for (user, judge, mark) in [
                ("a/m", "lexical", "judged by patterns"),
                ("lexical", "a/m", "user by patterns"),
                ("lexical", "lexical", "by patterns"),
            ] {
                assert_eq!(words(agent, user, judge), [mark]);
            }
            assert!(words(agent, "a/m", "a/m,b/m").is_empty());
        }
        assert_eq!(
            words("acp-unconfined:x", "a/m", "lexical"),
            ["judged by patterns", "unconfined agent"]
        );
        assert_eq!(
            words("acp-unconfined:x", "a/m", "a/m"),
            ["unconfined agent"]
        );
        assert!(!is_model("acp:x/y") && is_model("x/y"));
        assert_eq!(Players::IMPORTED.marks(), [Mark::Imported]);
        let regraded = Players {
            judge: Player::Patterns,
            ..Players::IMPORTED
        };
        assert_eq!(regraded.marks(), [Mark::PatternJudge, Mark::Imported]);
    }
}
