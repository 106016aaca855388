/**
 * The unit of an expression's values, from the names in it: `_bytes`, `_seconds`, `_ratio`,
 * `_percent`, and a rate of each. An uncertain unit counts as none. Pure.
 */
import type { SyntaxNode } from "@lezer/common";
import { parser } from "@prometheus-io/lezer-promql";
import { axisValue } from "../../components/plot-axes.ts";

export interface Unit {
  readonly of: "bytes" | "seconds" | "ratio" | "percent" | "number";
  readonly isPerSecond: boolean;
}

export const plain: Unit = { of: "number", isPerSecond: false };

const rates = new Set(["rate", "irate", "deriv"]);
/** Their results have the unit of the histogram's observations, even for a rate. */
const ofHistograms = new Set(["histogram_quantile", "histogram_avg", "histogram_stddev"]);
/** Functions and aggregations whose values have the unit of their arguments. */
const keeping = new Set(
  "abs avg avg_over_time bottomk ceil clamp clamp_max clamp_min delta double_exponential_smoothing first_over_time floor histogram_sum idelta increase info label_join label_replace last_over_time limit_ratio limitk mad_over_time max max_over_time min min_over_time predict_linear quantile quantile_over_time round scalar sort sort_by_label sort_by_label_desc sort_desc stddev stddev_over_time sum sum_over_time topk vector".split(
    " ",
  ),
);

export function unitOf(query: string): Unit {
  const { topNode } = parser.parse(query);
  return (topNode.firstChild && new Units(query).of(topNode.firstChild)) ?? plain;
}

class Units {
  readonly #query: string;

  constructor(query: string) {
    this.#query = query;
  }

  /** Undefined for a constant, which takes the unit of the other operand. */
  of(node: SyntaxNode): Unit | undefined {
    switch (node.name) {
      case "NumberDurationLiteral":
      case "StringLiteral":
        return undefined;
      case "VectorSelector":
        return { of: unitOfName(this.#nameIn(node)), isPerSecond: false };
      case "FunctionCall":
      case "AggregateExpr":
        return this.#ofCall(node);
      case "BinaryExpr":
        return this.#ofBinary(node);
      case "UnaryExpr":
        return node.lastChild === null ? plain : this.of(node.lastChild);
      case "ParenExpr":
      case "OffsetExpr":
      case "StepInvariantExpr":
      case "MatrixSelector":
      case "SubqueryExpr":
      case "AnchoredExpr":
      case "SmoothedExpr":
        return node.firstChild === null ? plain : this.of(node.firstChild);
      default:
        return plain; // Unknown, or incomplete.
    }
  }

  #ofCall(node: SyntaxNode): Unit | undefined {
    const name = this.#text(node.firstChild);
    const args = node.getChild("FunctionCallBody");
    if (ofHistograms.has(name)) {
      return { of: unitOfName(this.#onlyNameIn(args).replace(/_bucket$/, "")), isPerSecond: false };
    }
    const inner = same(childrenOf(args).map((arg) => this.of(arg)));
    if (keeping.has(name)) return inner;
    if (!rates.has(name) || inner === undefined || inner.isPerSecond) return plain;
    // Seconds per second have no unit.
    if (inner.of !== "bytes" && inner.of !== "number") return plain;
    return { of: inner.of, isPerSecond: true };
  }

  #ofBinary(node: SyntaxNode): Unit | undefined {
    const { firstChild: left, lastChild: right } = node;
    const operator = left?.nextSibling?.name ?? "";
    if (left === null || right === null || node.getChild("BoolModifier") !== null) return plain;
    switch (operator) {
      case "And":
      case "Unless":
        return this.of(left);
      case "Eql":
      case "Neq":
      case "Gtr":
      case "Gte":
      case "Lss":
      case "Lte":
        return this.of(left) ?? this.of(right); // These operators only filter values.
      case "Add":
      case "Sub":
      case "Or":
        return same([this.of(left), this.of(right)]);
      default:
        return plain; // Arithmetic gives other units.
    }
  }

  /** Empty when there are several names. */
  #onlyNameIn(node: SyntaxNode | null): string {
    const names = new Set<string>();
    node?.cursor().iterate((each) => {
      if (each.name === "VectorSelector") names.add(this.#nameIn(each.node));
    });
    const [name = ""] = names.size === 1 ? names : [];
    return name;
  }

  #nameIn(selector: SyntaxNode): string {
    const quoted = selector.getChild("LabelMatchers")?.getChild("QuotedLabelName") ?? null;
    return this.#text(selector.getChild("Identifier")) || this.#text(quoted).slice(1, -1);
  }

  #text(node: SyntaxNode | null): string {
    return node === null ? "" : this.#query.slice(node.from, node.to);
  }
}

function childrenOf(node: SyntaxNode | null): readonly SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node?.firstChild; child; child = child.nextSibling) children.push(child);
  return children;
}

/** The common unit of all that have one; none when they differ. */
function same(units: readonly (Unit | undefined)[]): Unit | undefined {
  const [first, ...others] = units.filter((unit) => unit !== undefined);
  if (first === undefined) return undefined;
  const isSame = others.every(
    ({ of, isPerSecond }) => of === first.of && isPerSecond === first.isPerSecond,
  );
  return isSame ? first : plain;
}

function unitOfName(name: string): Unit["of"] {
  // A timestamp is not a duration. A bucket counts observations, like a count.
  if (/(^|_)(timestamp|start_time|boot_time)_seconds$/.test(name)) return "number";
  const [, unit] = /_(bytes|seconds|ratio|percent)(?:_(?:total|sum|max|min))?$/.exec(name) ?? [];
  return (unit ?? "number") as Unit["of"];
}

const scales: Readonly<Record<"bytes" | "seconds", readonly (readonly [number, string])[]>> = {
  bytes: [
    [1024 ** 4, "TiB"],
    [1024 ** 3, "GiB"],
    [1024 ** 2, "MiB"],
    [1024, "KiB"],
    [1, "B"],
  ],
  seconds: [
    [86_400, "d"],
    [3_600, "h"],
    [60, "min"],
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
  ],
};

/** `digits` is the number of significant digits: few on an axis, more for a single value. */
export function formatUnit(value: number, { of, isPerSecond }: Unit, digits: number): string {
  const rate = isPerSecond ? "/s" : "";
  if (of === "ratio") return `${shortest(value * 100, digits)} %${rate}`;
  if (of === "percent") return `${shortest(value, digits)} %${rate}`;
  if (of === "number") return `${digits > 4 ? exact(value) : axisValue(value)}${rate}`;
  const size = Math.abs(value);
  if (size === 0) return `0 ${of === "bytes" ? "B" : "s"}${rate}`;
  const scale = scales[of].find(([least]) => size >= least) ?? scales[of].at(-1);
  const [least, name] = scale ?? [1, ""];
  return `${shortest(value / least, digits)} ${name}${rate}`;
}

function shortest(value: number, digits: number): string {
  return String(Number(value.toPrecision(digits)));
}

function exact(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e9 || size < 1e-4)) return value.toExponential(3);
  return shortest(value, 6);
}

/** Distances between ticks: round numbers of the shown unit. */
export function incrementsOf({ of }: Unit): number[] | undefined {
  if (of === "bytes") return Array.from({ length: 60 }, (_, power) => 2 ** power);
  if (of !== "seconds") return undefined;
  const small = [-6, -5, -4, -3, -2, -1, 0, 1].flatMap((power) =>
    [1, 2, 5].map((n) => n * 10 ** power),
  );
  const large = [60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400];
  return [
    ...small.filter((each) => each < 60),
    ...large,
    ...[2, 5, 10, 50, 100, 1_000].map((n) => n * 86_400),
  ];
}
