//! What the 18 kinds of work are called. The names are those of the paper's Table 5; the descriptions are our own.

use pibench_core::vocabulary::Category;

/// All of them, A to R.
pub const CATEGORIES: [Category; 18] = [
    Category::A,
    Category::B,
    Category::C,
    Category::D,
    Category::E,
    Category::F,
    Category::G,
    Category::H,
    Category::I,
    Category::J,
    Category::K,
    Category::L,
    Category::M,
    Category::N,
    Category::O,
    Category::P,
    Category::Q,
    Category::R,
];

/// The letter.
pub fn letter(category: Category) -> String {
    format!("{category:?}")
}

/// The name, and what such a task asks for.
pub fn describe(category: Category) -> (&'static str, &'static str) {
    match category {
        Category::A => (
            "AI research frontier intelligence",
            "Follow new papers, methods and figures; choose few, judge what is worth following up.",
        ),
        Category::B => (
            "Scholarly experiment and rebuttal artifacts",
            "Turn experiment records and reviews into tables, drafts and answers.",
        ),
        Category::C => (
            "Researcher life and career planning",
            "Weigh housing, food, sport and internships against a person's own limits.",
        ),
        Category::D => (
            "Financial model validation and governance",
            "Check models independently: conclusion first, limits, monitoring, remedies.",
        ),
        Category::E => (
            "Quantitative data engineering and curve analytics",
            "Source, clean and calibrate financial data; scripts that hold up statistically.",
        ),
        Category::F => (
            "Legal pleading and contract drafting",
            "Draft or revise formal legal documents, facts matched to law.",
        ),
        Category::G => (
            "Legal compliance and evidence strategy",
            "Reason before drafting: compliance, similar cases, what evidence to collect.",
        ),
        Category::H => (
            "Legal matter operations and handoffs",
            "Run a matter: notes, messages, reminders, what is missing, what blocks.",
        ),
        Category::I => (
            "Biomedical literature and clinical evidence",
            "Read clinical material, correct drafts, put evidence together.",
        ),
        Category::J => (
            "Experimental assay and lab result reasoning",
            "Design an assay or interpret its raw results, controls and replicates.",
        ),
        Category::K => (
            "Drug design, formulation and product benchmarking",
            "Reason from molecules and formulations to routes that can be tested.",
        ),
        Category::L => (
            "Laboratory procurement and research logistics",
            "Turn plans and stock gaps into purchases in the right order.",
        ),
        Category::M => (
            "Market intelligence and brand research",
            "Market sizes, regions, products and brands, with sources.",
        ),
        Category::N => (
            "Marketing content systems and conversion copy",
            "Scripts, headlines and briefs under a channel's rules.",
        ),
        Category::O => (
            "Co-branding strategy and creative governance",
            "A campaign of two brands that keeps the rules of both.",
        ),
        Category::P => (
            "Crisis, recovery and reputation communications",
            "Say what happened and what is offered, and nothing that was not approved.",
        ),
        Category::Q => (
            "Consumer selection, commerce and media actions",
            "Choose by unsaid preferences, then fill the cart, the list or the playlist.",
        ),
        Category::R => (
            "Tool-mediated administrative workflows",
            "Read, write, check and clean up with everyday tools.",
        ),
    }
}
