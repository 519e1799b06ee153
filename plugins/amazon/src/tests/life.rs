//! Random lives: what must hold after any sequence of calls.

use std::collections::BTreeMap;

use super::*;

/// What random calls take for texts.
pub(super) const TEXTS: [&str; 12] = [
    IDA,
    "pw",
    BO,
    "pb",
    "lamp",
    "desk lamp",
    "red",
    "kettle mug",
    "-price",
    "+rating",
    "-created_at",
    "Home",
];

fn start() -> Session<Amazon> {
    testkit::set_clock(jiff::civil::date(2026, 3, 2).at(9, 0, 0, 0));
    ida()
}

fn cents(record: &Value, field: &str) -> u64 {
    record[field].as_u64().unwrap()
}

fn records<'a>(state: &'a Value, list: &str) -> &'a [Value] {
    state[list].as_array().unwrap()
}

/// What is in stock and what was sold since the start is what there was; money adds up; lists hold at least one.
#[track_caller]
fn check_books(before: &Value, now: &Value) {
    let mut sold: BTreeMap<u64, u64> = BTreeMap::new();
    for order in records(now, "orders") {
        check_order(order);
        let new = !records(before, "orders").contains(order);
        for item in order["items"].as_array().unwrap().iter().filter(|_| new) {
            *sold.entry(cents(item, "product_id")).or_default() += cents(item, "quantity");
        }
    }
    for (was, is) in records(before, "products")
        .iter()
        .zip(records(now, "products"))
    {
        let sold = sold.get(&cents(is, "id")).copied().unwrap_or_default();
        assert_eq!(cents(was, "stock"), cents(is, "stock") + sold);
    }
    for list in ["cart_items", "wish_list_items"] {
        assert!(
            records(now, list)
                .iter()
                .all(|item| (1..=999).contains(&cents(item, "quantity")))
        );
    }
}

#[track_caller]
fn check_order(order: &Value) {
    let items = order["items"].as_array().unwrap();
    let base: u64 = items
        .iter()
        .map(|item| cents(item, "price_cents") * cents(item, "quantity"))
        .sum();
    assert_eq!(cents(order, "base_cents"), base);
    let paid = base - cents(order, "discount_cents")
        + cents(order, "gift_wrap_cents")
        + cents(order, "delivery_cents")
        + cents(order, "tax_cents");
    assert_eq!(cents(order, "paid_cents"), paid);
}

/// The cart as the account sees it adds up to the cent.
#[track_caller]
fn check_cart(session: &mut Session<Amazon>) {
    let Ok(cart) = session.call("show_cart", json!({})) else {
        return;
    };
    let amount = |value: &Value| (value.as_f64().unwrap() * 100.0).round();
    let items = cart["cart_items"].as_array().unwrap();
    let base: f64 = items
        .iter()
        .map(|item| amount(&item["price"]) * item["quantity"].as_f64().unwrap())
        .sum();
    assert!((amount(&cart["base_cost"]) - base).abs() < 0.5);
    let total = base - amount(&cart["discount"])
        + amount(&cart["tax"])
        + amount(&cart["delivery_fee"])
        + amount(&cart["gift_wrap_fee"]);
    assert!((amount(&cart["total_cost"]) - total).abs() < 0.5);
}

/// The plainest shop there could be, for one customer: what the cart, the wish list and the shelves hold.
#[derive(Default, Clone, PartialEq, Debug)]
struct Model {
    cart: BTreeMap<u64, u64>,
    wish_list: BTreeMap<u64, u64>,
    stock: BTreeMap<u64, u64>,
}

#[derive(Debug, Clone)]
enum Step {
    Add(u64, u64, bool),
    Wish(u64, u64, bool),
    Set(u64, u64),
    ToWishList(u64, u64),
    ToCart(u64, u64),
    Clear,
    Order,
}

impl Step {
    fn call(&self, session: &mut Session<Amazon>) -> bool {
        let (tool, arguments) = match self {
            Self::Add(id, n, first) => (
                "add_product_to_cart",
                json!({"product_id": id, "quantity": n, "clear_cart_first": first}),
            ),
            Self::Wish(id, n, first) => (
                "add_product_to_wish_list",
                json!({"product_id": id, "quantity": n, "clear_wish_list_first": first}),
            ),
            Self::Set(id, n) => (
                "update_product_quantity_in_cart",
                json!({"product_id": id, "quantity": n}),
            ),
            Self::ToWishList(id, n) => (
                "move_product_from_cart_to_wish_list",
                json!({"product_id": id, "quantity": n}),
            ),
            Self::ToCart(id, n) => (
                "move_product_from_wish_list_to_cart",
                json!({"product_id": id, "quantity": n}),
            ),
            Self::Clear => ("clear_cart", json!({})),
            Self::Order => (
                "place_order",
                json!({"payment_card_id": 1, "address_id": 1}),
            ),
        };
        session.call(tool, arguments).is_ok()
    }
}

impl Model {
    fn new(session: &mut Session<Amazon>) -> Self {
        let state = session.state();
        let held = |list: &str, id: &str, quantity: &str| {
            let rows = records(&state, list).iter();
            rows.filter(|row| row.get("owner").is_none_or(|owner| owner == IDA))
                .map(|row| (cents(row, id), cents(row, quantity)))
                .collect()
        };
        Self {
            cart: held("cart_items", "product_id", "quantity"),
            wish_list: held("wish_list_items", "product_id", "quantity"),
            stock: held("products", "id", "stock"),
        }
    }

    /// What the step leads to; none if it must be refused.
    fn after(&self, step: &Step) -> Option<Self> {
        let mut next = self.clone();
        match *step {
            Step::Add(id, n, first) => {
                if first {
                    next.cart.clear();
                }
                next.put_in_cart(id, n)?;
            }
            Step::Wish(id, n, first) => {
                if first {
                    next.wish_list.clear();
                }
                (n <= *next.stock.get(&id)?).then_some(())?;
                next.put_on_wish_list(id, n)?;
            }
            Step::Set(id, n) => {
                next.cart.remove(&id)?;
                if n > 0 {
                    next.put_in_cart(id, n)?;
                }
            }
            Step::ToWishList(id, n) => {
                take(&mut next.cart, id, n)?;
                next.put_on_wish_list(id, n)?;
            }
            Step::ToCart(id, n) => {
                take(&mut next.wish_list, id, n)?;
                next.put_in_cart(id, n)?;
            }
            Step::Clear => next.cart.clear(),
            Step::Order => {
                let cart = std::mem::take(&mut next.cart);
                (!cart.is_empty()).then_some(())?;
                for (id, n) in cart {
                    let stock = next.stock.get_mut(&id)?;
                    *stock = stock.checked_sub(n)?;
                }
            }
        }
        Some(next)
    }

    fn put_in_cart(&mut self, id: u64, n: u64) -> Option<()> {
        let held = self.cart.entry(id).or_default();
        *held += n;
        (n > 0 && *held <= *self.stock.get(&id)?).then_some(())
    }

    fn put_on_wish_list(&mut self, id: u64, n: u64) -> Option<()> {
        *self.wish_list.entry(id).or_default() += n;
        (n > 0 && self.stock.contains_key(&id)).then_some(())
    }
}

fn take(from: &mut BTreeMap<u64, u64>, id: u64, n: u64) -> Option<()> {
    let held = from.get_mut(&id)?;
    *held = held.checked_sub(n)?;
    if *held == 0 {
        from.remove(&id);
    }
    (n > 0).then_some(())
}

fn step() -> impl Strategy<Value = Step> {
    let (id, n) = (0_u64..7, 0_u64..5);
    prop_oneof![
        3 => (id.clone(), n.clone(), prop::bool::weighted(0.1)).prop_map(|(id, n, first)| Step::Add(id, n, first)),
        2 => (id.clone(), n.clone(), prop::bool::weighted(0.1)).prop_map(|(id, n, first)| Step::Wish(id, n, first)),
        1 => (id.clone(), n.clone()).prop_map(|(id, n)| Step::Set(id, n)),
        1 => (id.clone(), n.clone()).prop_map(|(id, n)| Step::ToWishList(id, n)),
        2 => (id, n).prop_map(|(id, n)| Step::ToCart(id, n)),
        1 => Just(Step::Clear),
        2 => Just(Step::Order),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_sequence_of_calls_panics_and_a_snapshot_goes_on_where_it_was_taken(
        before in prop::collection::vec(any::<u64>(), 0..80),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        let mut session = start();
        let at_first = session.state();
        let step = |session: &mut Session<Amazon>, number| testkit::random_step(session, number, &TEXTS);
        for number in before {
            let unchanged = session.state();
            if step(&mut session, number).is_err() {
                prop_assert_eq!(session.state(), unchanged);
            }
            check_cart(&mut session);
        }
        check_books(&at_first, &session.state());
        testkit::check_restored(&mut session, |session| after.iter().map(|number| step(session, *number)).collect());
    }

    #[test]
    fn cart_wish_list_and_stock_are_as_the_plainest_shop_has_them(
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut session = start();
        let at_first = session.state();
        let mut model = Model::new(&mut session);
        for step in steps {
            let next = model.after(&step);
            prop_assert_eq!(step.call(&mut session), next.is_some(), "{:?} on {:?}", step, model);
            model = next.unwrap_or(model);
            prop_assert_eq!(&Model::new(&mut session), &model, "after {:?}", step);
            check_cart(&mut session);
        }
        check_books(&at_first, &session.state());
    }
}
