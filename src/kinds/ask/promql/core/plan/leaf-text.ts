/** A leaf as readable text: nearly PromQL, with its offset and its function. */
import { formatDuration } from "../durations.ts";
import { formatFloat } from "../format-float.ts";
import { metricNameLabel } from "../labels.ts";
import type { BaseExpr, LeafAggregate, LeafCall, Matcher } from "../leaf.ts";
import { quoteText } from "../print/quote.ts";

export function leafText(leaf: BaseExpr): string {
  const selector = selectorText(leaf);
  const { output } = leaf;
  if (output.kind === "raw") return selector;
  const called = output.call === undefined ? selector : callText(output.call, selector);
  return output.kind === "steps" ? called : aggregateText(output.aggregate, called);
}

function selectorText({ matchers, rangeMs, offsetMs, bounds }: BaseExpr): string {
  const named = matchers.find(({ name, op }) => name === metricNameLabel && op === "=");
  const plain = named !== undefined && /^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(named.value);
  const others = plain ? matchers.filter((matcher) => matcher !== named) : matchers;
  const braces = others.length === 0 && plain ? "" : `{${others.map(matcherText).join(", ")}}`;
  const range = rangeMs === undefined ? "" : `[${formatDuration(rangeMs)}]`;
  const modifier = bounds === undefined ? "" : ` ${bounds}`;
  const offset = offsetMs === 0 ? "" : ` offset ${formatDuration(offsetMs)}`;
  return `${plain ? named.value : ""}${braces}${range}${modifier}${offset}`;
}

function matcherText({ name, op, value }: Matcher): string {
  const label = /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name) ? name : quoteText(name);
  return `${label}${op}${quoteText(value)}`;
}

/** One function has its parameters before the range vector, the others after it. */
function callText({ name, args }: LeafCall, selector: string): string {
  const numbers = args.map(formatFloat);
  const all = name === "quantile_over_time" ? [...numbers, selector] : [selector, ...numbers];
  return `${name}(${all.join(", ")})`;
}

function aggregateText({ op, grouping, without, k }: LeafAggregate, input: string): string {
  const clause =
    grouping.length === 0 && !without
      ? ""
      : ` ${without ? "without" : "by"} (${grouping.join(", ")})`;
  const param = k === undefined ? "" : `${formatFloat(k)}, `;
  return `${op}${clause} (${param}${input})`;
}
