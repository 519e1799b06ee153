//! What a run will ask of its models, before it is played: calls and tokens by role, from the suite's material and from
//! assumptions about what agents do. The assumptions are constants here, and whoever shows the estimate shows them, too.

use super::cost::Tokens;
use crate::vocabulary::Protocol;

/// Bytes of a token: English prose and JSON.
pub const BYTES_PER_TOKEN: u64 = 4;

/// Share of a session's intents that the user has to tell, one for each turn (the paper's Table 1: Proc is 43 to 67).
pub const TOLD: f64 = 0.45;

/// Calls of the agent's model in a turn.
pub const CALLS_PER_TURN: u64 = 8;

/// Tokens that the agent writes in a call, thinking among them.
pub const WRITTEN_PER_CALL: u64 = 400;

/// Tokens of a tool's result.
pub const RESULT: u64 = 500;

/// Tokens of what the agent tells the user in a turn.
pub const RESPONSE: u64 = 400;

/// Tokens of the files that a turn changes.
pub const CHANGED: u64 = 1_500;

/// Tokens of a call as judges see it later: its arguments, and the result where it did something.
pub const CALL_SHOWN: u64 = 200;

/// Tokens of one prompt of the user agent or the judge without its evidence and items.
pub const PROMPT: u64 = 900;

/// Tokens of one judged item in an answer.
pub const VERDICT: u64 = 70;

/// Tokens of a message that a model writes for the user.
pub const MESSAGE: u64 = 120;

/// Tokens of the question before the first session.
pub const QUESTION: u64 = 30;

/// Tokens of its answer, with what is thought before it.
pub const ANSWER: u64 = 100;

/// The assumptions in words, one for each line.
pub fn assumptions() -> Vec<String> {
    vec![
        format!(
            "{:.0} % of the intents are told by the user, one in each turn",
            TOLD * 100.0
        ),
        format!(
            "the agent makes {CALLS_PER_TURN} calls in a turn, writes {WRITTEN_PER_CALL} tokens in each (thinking \
             included) and reads {RESULT} tokens of a result"
        ),
        format!("a turn tells the user {RESPONSE} tokens and changes files of {CHANGED}"),
        format!("a call is shown to judges with {CALL_SHOWN} tokens in later turns"),
        format!(
            "a prompt of user agent or judge has {PROMPT} tokens beside evidence and items; {VERDICT} are answered for \
             an item, {MESSAGE} for a message"
        ),
        format!(
            "the preflight asks each model {QUESTION} tokens, the agent with the tools of each persona, and is answered in \
             {ANSWER}"
        ),
        format!("a token is {BYTES_PER_TOKEN} bytes; nothing is cached, repeated or cut"),
    ]
}

/// One session's material, in tokens where it is no count.
#[derive(Debug, Clone, Copy, Default)]
pub struct Material {
    pub intents: u64,
    /// All intents' texts.
    pub intent_tokens: u64,
    pub rubrics: u64,
    /// All criteria's texts.
    pub rubric_tokens: u64,
    pub max_turns: u64,
    /// Files that judges read, as they were staged.
    pub read_tokens: u64,
    /// The system prompt and the tools' schemas.
    pub frame_tokens: u64,
    pub request_tokens: u64,
    pub profile_tokens: u64,
}

/// What one role will be asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Load {
    pub calls: u64,
    pub input: u64,
    pub output: u64,
}

impl Load {
    fn call(&mut self, input: u64, output: u64) {
        self.calls += 1;
        self.input += input;
        self.output += output;
    }

    pub fn tokens(self) -> Tokens {
        Tokens {
            input: self.input,
            output: self.output,
            ..Tokens::default()
        }
    }

    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self {
            calls: self.calls * count,
            input: self.input * count,
            output: self.output * count,
        }
    }
}

impl std::ops::AddAssign for Load {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.input += other.input;
        self.output += other.output;
    }
}

/// What the three roles will be asked in a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate {
    pub turns: u64,
    pub agent: Load,
    pub user: Load,
    pub judge: Load,
}

impl std::ops::AddAssign for Estimate {
    fn add_assign(&mut self, other: Self) {
        self.turns += other.turns;
        self.agent += other.agent;
        self.user += other.user;
        self.judge += other.judge;
    }
}

/// The question that each model is asked before the first session: the agent once for each of these lists of tools, which
/// have so many tokens.
pub fn preflight(lists: &[u64]) -> Estimate {
    let mut estimate = Estimate::default();
    for tools in lists {
        estimate.agent.call(QUESTION + tools, ANSWER);
    }
    estimate.user.call(QUESTION, ANSWER);
    estimate.judge.call(QUESTION, ANSWER);
    estimate
}

/// Plays a session on paper.
pub fn session(material: &Material, protocol: Protocol) -> Estimate {
    let told = told(material.intents);
    let mut estimate = Estimate {
        turns: (told + 1).min(material.max_turns),
        ..Estimate::default()
    };
    let mut chat = material.frame_tokens + material.request_tokens;
    let mut conversation = material.request_tokens;
    for turn in 0..estimate.turns {
        for _ in 0..CALLS_PER_TURN {
            estimate.agent.call(chat, WRITTEN_PER_CALL);
            chat += WRITTEN_PER_CALL + RESULT;
        }
        conversation += RESPONSE;
        let last = turn + 1 == estimate.turns;
        let earlier = turn * CALLS_PER_TURN * CALL_SHOWN;
        let dialogue = (conversation, earlier);
        user_turn(&mut estimate.user, material, dialogue, last, protocol);
        if material.rubrics > 0 {
            let work = match protocol {
                Protocol::Paper => earlier + CALLS_PER_TURN * CALL_SHOWN + CHANGED,
                Protocol::PiBench => RESULT,
            };
            let shown = conversation + material.read_tokens + work + material.rubric_tokens;
            estimate.judge.call(
                PROMPT + shown,
                material.rubrics * VERDICT + material.rubric_tokens,
            );
        }
        conversation += MESSAGE;
        chat += MESSAGE;
    }
    // The memory step.
    estimate.agent.call(chat, WRITTEN_PER_CALL);
    estimate
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a small count"
)]
fn told(intents: u64) -> u64 {
    (intents as f64 * TOLD).ceil() as u64
}

/// Stage 1, and then stage 2 and the next message.
fn user_turn(
    user: &mut Load,
    material: &Material,
    (conversation, earlier): (u64, u64),
    last: bool,
    protocol: Protocol,
) {
    let answer = material.intents * VERDICT + material.intent_tokens;
    let work = match protocol {
        Protocol::Paper => conversation + earlier + CALLS_PER_TURN * RESULT + CHANGED,
        Protocol::PiBench => RESPONSE + material.read_tokens,
    };
    user.call(PROMPT + work + material.intent_tokens, answer);
    if last {
        return;
    }
    user.call(PROMPT + conversation + material.intent_tokens, answer);
    if protocol == Protocol::Paper {
        user.call(PROMPT + work + material.intent_tokens, VERDICT);
        user.call(PROMPT + work + material.profile_tokens, MESSAGE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATERIAL: Material = Material {
        intents: 4,
        intent_tokens: 80,
        rubrics: 3,
        rubric_tokens: 60,
        max_turns: 30,
        read_tokens: 100,
        frame_tokens: 5_000,
        request_tokens: 50,
        profile_tokens: 300,
    };

    #[test]
    fn two_of_four_intents_told_make_three_turns() {
        let Estimate {
            turns,
            agent,
            user,
            judge,
        } = session(&MATERIAL, Protocol::Paper);
        assert_eq!(turns, 3);
        assert_eq!(agent.calls, 3 * CALLS_PER_TURN + 1);
        assert_eq!(user.calls, 1 + 2 * 4);
        assert_eq!(judge.calls, 3);
        assert!(agent.input > 25 * MATERIAL.frame_tokens);
    }

    #[test]
    fn the_preflight_asks_the_agent_once_for_each_list_of_tools() {
        let Estimate {
            turns,
            agent,
            user,
            judge,
        } = preflight(&[5_000, 2_000]);
        assert_eq!((turns, agent.calls, user.calls, judge.calls), (0, 2, 1, 1));
        assert_eq!(agent.input, 7_000 + 2 * QUESTION);
    }

    #[test]
    fn the_released_code_writes_no_messages() {
        assert_eq!(session(&MATERIAL, Protocol::PiBench).user.calls, 1 + 2 * 2);
    }

    #[test]
    fn a_session_without_rubrics_needs_no_judge_and_turns_are_bounded() {
        let material = Material {
            rubrics: 0,
            max_turns: 2,
            ..MATERIAL
        };
        let estimate = session(&material, Protocol::Paper);
        assert_eq!((estimate.turns, estimate.judge.calls), (2, 0));
    }
}
