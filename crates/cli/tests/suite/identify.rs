//! `fenchel identify`: formulas of the textbooks, and pairs of models that are judged by sums over all states.

use serde_json::Value;

use crate::common::Folder;

#[test]
fn formulas_are_those_of_the_textbooks() {
    let folder = Folder::new();
    // The back door.
    let text = folder.ok("identify 'z -> x -> y; z -> y' 'P(y | do(x))'");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "P(y | do(x)) = sum_{z} P(z) P(y | z, x)",
            "back-door sets: {z}",
            "adjustment sets: {z}",
            "set of least variance: {z}"
        ]
    );
    // The front door.
    let front = "identify 'x -> m -> y; x <-> y' 'P(y | do(x))'";
    let text = folder.ok(front);
    assert_eq!(
        text,
        "P(y | do(x)) = sum_{m} P(m | x) sum_{x'} P(x') P(y | x', m)\nfront-door sets: {m}\n"
    );
    assert_eq!(
        folder.ok(&format!("{front} --latex")),
        "P(y \\mid \\mathrm{do}(x)) = \\sum_{m} P(m \\mid x) \\, \\sum_{x'} P(x') \\, P(y \\mid x', m)\n"
    );
    // Nothing to adjust for.
    let text = folder.ok("identify 'x -> y' 'P(y | do(x))'");
    assert!(text.contains("P(y | do(x)) = P(y | x)\nback-door sets: {}\n"), "{text}");
    // The napkin has a variable whose value does not matter.
    let text = folder.ok("identify 'w -> r -> x -> y; w <-> x; w <-> y' 'P(y | do(x))'");
    assert!(text.contains("\nevery value of r gives the same result\n"), "{text}");
    // Conditions after an intervention have no sets.
    let text = folder.ok("identify 'z -> x -> y; z -> y' 'P(y | do(x), z)'");
    assert_eq!(text, "P(y | do(x), z) = P(y | z, x)\n");
    let answer =
        folder.ok("identify 'a -> x; a -> b -> y; x -> y; c -> x; c -> y' 'P(y | do(x))' --json");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["identifiable"], true);
    assert_eq!(answer["adjustment_sets"], serde_json::json!([["a", "c"], ["b", "c"]]));
    assert_eq!(answer["optimal_adjustment"], serde_json::json!([["b", "c"]]));
}

/// `P(all observed | do(x))` of a model in a file, by a sum over all hidden causes. The last variable is fastest.
fn law(model: &Value, set: &[usize]) -> Vec<f64> {
    let list = |value: &Value| -> Vec<usize> {
        value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
    };
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let cards = list(&model["cards"]);
    let laws: Vec<Vec<f64>> = model["latents"].as_array().unwrap().iter().map(numbers).collect();
    let hidden: Vec<usize> = laws.iter().map(Vec::len).collect();
    let split = |mut cell: usize, cards: &[usize]| {
        let mut states = vec![0; cards.len()];
        for (state, card) in states.iter_mut().zip(cards).rev() {
            *state = cell % card;
            cell /= card;
        }
        states
    };
    let mut joint = vec![0.0; cards.iter().product()];
    for (cell, total) in joint.iter_mut().enumerate() {
        let v = split(cell, &cards);
        for u in 0..hidden.iter().product() {
            let u = split(u, &hidden);
            let mut p: f64 = u.iter().zip(&laws).map(|(&state, law)| law[state]).product();
            for (node, m) in model["mechanisms"].as_array().unwrap().iter().enumerate() {
                if set.contains(&node) {
                    continue;
                }
                let mut row = 0;
                for parent in list(&m["parents"]) {
                    row = row * cards[parent] + v[parent];
                }
                for latent in list(&m["latents"]) {
                    row = row * hidden[latent] + u[latent];
                }
                p *= numbers(&m["table"])[row * cards[node] + v[node]];
            }
            *total += p;
        }
    }
    joint
}

#[test]
fn a_refusal_comes_with_two_models_that_prove_it() {
    let folder = Folder::new();
    for (graph, x, nodes) in [
        ("x -> y; x <-> y", 0, 2),
        // A mediator that shares a cause with the treatment and another with the outcome.
        ("x -> m -> y; x <-> m; x <-> y", 0, 3),
    ] {
        let line = format!("identify '{graph}' 'P(y | do(x))'");
        let output = folder.run(&format!("{line} --json"));
        assert_eq!(output.status.code(), Some(3));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["identifiable"], false);
        let model = |which: &str| &answer["witness"][which]["model"];
        let (first, second) = (model("first"), model("second"));
        assert_eq!(first["cards"].as_array().unwrap().len(), nodes);
        let apart = |a: Vec<f64>, b: Vec<f64>| {
            a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        assert!(apart(law(first, &[]), law(second, &[])) < 1e-12, "{graph}");
        assert!(law(first, &[]).iter().all(|p| *p > 0.0) || nodes > 2, "{graph}");
        assert!(apart(law(first, &[x]), law(second, &[x])) > 1e-3, "{graph}");
        let output = folder.run(&line);
        assert_eq!(output.status.code(), Some(3));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with("not identifiable: P(y | do(x)): "), "{text}");
        assert!(text.contains("\nx  y  P(y | do(x)), first  "), "{text}");
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn graphs_and_queries_are_checked() {
    let folder = Folder::new();
    for (line, message) in [
        ("'x -> ' 'P(y | do(x))'", "at byte 2 of \"x -> \": an arrow leads nowhere"),
        ("'x -> y' 'P(y | do(z))'", "there is no node \"z\"; known: x, y"),
        ("'x -> y' 'P(y | do(x)'", "`do(` without `)`"),
        ("'x -> y' 'y'", "no `P(` at the beginning"),
        ("'x -> y; y -> x' 'P(y | do(x))'", "the directed edges form a cycle: "),
        ("'x -> y' 'P(y | do(y))'", "\"y\" is both "),
    ] {
        let error = folder.error(&format!("identify {line}"));
        assert!(error.contains(message), "{line}: {error}");
    }
    assert_eq!(folder.run("identify 'x -> y'").status.code(), Some(2));
    assert_eq!(folder.run("identify x P(x) --latex --json").status.code(), Some(2));
    // A graph from standard input, a line for each chain.
    folder.write("graph.txt", "z -> x -> y\nz -> y\n");
    let input = std::fs::File::open(folder.path("graph.txt")).unwrap();
    let output = folder.command("identify - 'P(y | do(x))'").stdin(input).output().unwrap();
    assert!(output.stdout.starts_with(b"P(y | do(x)) = sum_{z} "));
}
