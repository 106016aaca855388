/** Random expressions with valid types, as text. */
import fc from "fast-check";

const name = fc.constantFrom("foo", "bar", "a:b", "sum", "by", "start", "fill");
const label = fc.constantFrom("a", "b", "on", "sum", '"x.y"', '"é"');
const text = fc.constantFrom('"b"', "'c'", "`d`", '""', '"a\\"b\\n"', '"é😀"', '"x.*|y"');
const matcher = fc
  .tuple(label, fc.constantFrom("=", "!=", "=~", "!~"), text)
  .map((parts) => parts.join(""));
const labels = fc.array(label, { maxLength: 3 }).map((names) => `(${names.join(", ")})`);
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 }).map(String),
  fc.constantFrom("1", "0x1F", "1_000", "5m", "NaN", "1e9", "017"),
);
const duration = fc.constantFrom(
  ...["5m", "1h30m", "90", "0.5", "step()", "range() + 1m", "(1m + step()) * 2", "max_of(1m, 2)"],
  ...["2 ^ 3", "-(-1m)", "((step()))", "1h % 7m - 2"],
);
const offset = fc.constantFrom(
  ...["", " offset 5m", " offset -3", " offset -step()", " offset -(1m * 2)", " @ 5", " @ start()"],
  ...[" offset 1m @ end()", " @ -1.5 offset -min_of(1, 2)"],
);
const bounds = fc.constantFrom("", "", "", " anchored", " smoothed");
const arithmetic = fc.constantFrom("+", "-", "*", "/", "%", "^", "atan2");
const filter = fc.constantFrom("==", "!=", ">", "<", ">=", "<=", "</", ">/");
const sets = fc.constantFrom("and", "or", "unless");
const matching = fc.oneof(
  { weight: 3, arbitrary: fc.constant("") },
  labels.map((list) => `on ${list}`),
  labels.map((list) => `ignoring ${list} group_left ()`),
  fc.constant('ignoring (q) group_right (r, "s.t")'),
  fc.constant("fill (0)"),
  fc.constant("on (q) fill_left (1) fill_right (-2e9)"),
);

export interface RandomExpressions {
  readonly scalar: string;
  readonly vector: string;
  readonly matrix: string;
}

/** One arbitrary for each type; use `vector`. */
export const randomExpressions = fc.letrec<RandomExpressions>((tie) => {
  const scalar = tie("scalar");
  const vector = tie("vector");
  const matrix = tie("matrix");
  const selector = fc
    .tuple(name, fc.array(matcher, { maxLength: 2 }))
    .map(([metric, matchers]) =>
      matchers.length === 0 ? metric : `${metric}{${matchers.join(",")}}`,
    );
  return {
    scalar: fc.oneof(
      { maxDepth: 4, depthIdentifier: "expression" },
      number,
      fc.constantFrom("time()", "pi()", "step()"),
      fc.tuple(scalar, arithmetic, scalar).map((parts) => parts.join(" ")),
      scalar.map((inner) => `(${inner})`),
      scalar.map((inner) => `-${inner}`),
      vector.map((inner) => `scalar(${inner})`),
    ),
    vector: fc.oneof(
      { maxDepth: 4, depthIdentifier: "expression" },
      fc.tuple(selector, offset, bounds).map((parts) => parts.join("")),
      fc.tuple(vector, arithmetic, matching, vector).map((parts) => `(${parts.join(" ")})`),
      fc.tuple(vector, filter, scalar).map((parts) => `(${parts.join(" ")})`),
      fc.tuple(vector, sets, vector).map((parts) => `(${parts.join(" ")})`),
      fc.tuple(vector, scalar).map(([left, right]) => `(${left} > bool ${right})`),
      vector.map((inner) => `-${inner}`),
      fc.tuple(labels, vector).map(([list, inner]) => `sum by ${list} (${inner})`),
      fc.tuple(labels, vector).map(([list, inner]) => `max(${inner}) without ${list}`),
      fc.tuple(scalar, vector).map(([k, inner]) => `topk(${k}, ${inner})`),
      vector.map((inner) => `abs(${inner})`),
      fc.tuple(scalar, vector).map(([q, inner]) => `histogram_quantile(${q}, ${inner})`),
      matrix.map((inner) => `rate(${inner})`),
      fc.tuple(matrix, scalar).map(([inner, t]) => `predict_linear(${inner}, ${t})`),
    ),
    matrix: fc.oneof(
      { maxDepth: 4, depthIdentifier: "expression" },
      fc
        .tuple(selector, duration, bounds, offset)
        .map(([inner, window, edge, moved]) => `${inner}[${window}]${edge}${moved}`),
      fc
        .tuple(vector, fc.constantFrom("5m:", "1h:1m", "1 * 60:step() + 1"), offset)
        .map(([inner, window, moved]) => `(${inner})[${window}]${moved}`),
    ),
  };
});
