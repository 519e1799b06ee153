//! What a blank in a pattern means: a blank or a line end, since a text keeps its line ends and nobody who writes `due on
//! friday` thinks of them.

use regex_syntax::ast::{
    Ast, ClassBracketed, ClassSet, ClassSetItem, ClassSetUnion, Literal, LiteralKind,
};

/// Puts `[ \n]` in the place of each blank that stands for itself. `\x20` stays a blank alone.
pub(super) fn widen(pattern: &mut Ast) {
    match pattern {
        Ast::Literal(literal) if is_blank(literal) => {
            *pattern = Ast::class_bracketed(ClassBracketed {
                span: literal.span,
                negated: false,
                kind: ClassSet::Item(either(literal)),
            });
        }
        Ast::ClassBracketed(class) => widen_set(&mut class.kind),
        Ast::Repetition(repeated) => widen(&mut repeated.ast),
        Ast::Group(group) => widen(&mut group.ast),
        Ast::Alternation(alternatives) => alternatives.asts.iter_mut().for_each(widen),
        Ast::Concat(parts) => parts.asts.iter_mut().for_each(widen),
        Ast::Empty(_)
        | Ast::Flags(_)
        | Ast::Literal(_)
        | Ast::Dot(_)
        | Ast::Assertion(_)
        | Ast::ClassUnicode(_)
        | Ast::ClassPerl(_) => {}
    }
}

fn widen_set(set: &mut ClassSet) {
    match set {
        ClassSet::Item(item) => widen_item(item),
        ClassSet::BinaryOp(operation) => {
            widen_set(&mut operation.lhs);
            widen_set(&mut operation.rhs);
        }
    }
}

fn widen_item(item: &mut ClassSetItem) {
    match item {
        ClassSetItem::Literal(literal) if is_blank(literal) => *item = either(literal),
        ClassSetItem::Bracketed(class) => widen_set(&mut class.kind),
        ClassSetItem::Union(union) => union.items.iter_mut().for_each(widen_item),
        ClassSetItem::Empty(_)
        | ClassSetItem::Literal(_)
        | ClassSetItem::Range(_)
        | ClassSetItem::Ascii(_)
        | ClassSetItem::Unicode(_)
        | ClassSetItem::Perl(_) => {}
    }
}

fn is_blank(literal: &Literal) -> bool {
    literal.c == ' ' && literal.kind == LiteralKind::Verbatim
}

fn either(blank: &Literal) -> ClassSetItem {
    let line_end = Literal {
        c: '\n',
        ..blank.clone()
    };
    let items = [blank.clone(), line_end].map(ClassSetItem::Literal);
    ClassSetItem::Union(ClassSetUnion {
        span: blank.span,
        items: items.into(),
    })
}
