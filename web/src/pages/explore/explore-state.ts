/**
 * The page's state in its address:
 * `?q=up&q=rate(x[5m])&range=1h&end=1700000000&step=30s&view=table`. So every view can be shared,
 * and the browser's back button undoes.
 */
export type View = "chart" | "table" | "explain";

export interface ExploreState {
  /** At least one query, which may be empty. */
  readonly queries: readonly string[];
  readonly rangeMs: number;
  /** Undefined for the current time. */
  readonly endMs: number | undefined;
  /** Undefined when the range and the width decide. */
  readonly stepMs: number | undefined;
  readonly view: View;
}

export const defaultState: ExploreState = {
  queries: [""],
  rangeMs: 3_600_000,
  endMs: undefined,
  stepMs: undefined,
  view: "chart",
};

const views: readonly View[] = ["chart", "table", "explain"];

/** A little less than the maximum of a `Date`, in either direction. */
const timeMsMax = 8_000_000_000_000_000;

export function parseState(params: URLSearchParams): ExploreState {
  const queries = params.getAll("q").slice(0, 10);
  const view = views.find((each) => each === params.get("view"));
  const endMs = Number(params.get("end") ?? "") * 1000;
  const rangeMs = parseDuration(params.get("range") ?? "") ?? defaultState.rangeMs;
  return {
    queries: queries.length === 0 ? [""] : queries,
    rangeMs: Math.min(rangeMs, timeMsMax),
    endMs: endMs > 0 && endMs <= timeMsMax ? endMs : undefined,
    stepMs: parseDuration(params.get("step") ?? ""),
    view: view ?? "chart",
  };
}

export function formatState(state: ExploreState): URLSearchParams {
  const params = new URLSearchParams();
  for (const query of state.queries) {
    if (query !== "" || state.queries.length > 1) params.append("q", query);
  }
  if (state.rangeMs !== defaultState.rangeMs) params.set("range", formatSpan(state.rangeMs));
  if (state.endMs !== undefined) params.set("end", String(state.endMs / 1000));
  if (state.stepMs !== undefined) params.set("step", formatSpan(state.stepMs));
  if (state.view !== "chart") params.set("view", state.view);
  return params;
}

const units: readonly (readonly [unit: string, ms: number])[] = [
  ["w", 604_800_000],
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
];

/** Parses `1h30m`. Returns undefined for other texts, and for zero. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(ms|[smhdwy]))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, count = "", unit = ""] of text.matchAll(/(\d+)(ms|[smhdwy])/g)) {
    const ms = unit === "y" ? 31_536_000_000 : units.find(([name]) => name === unit)?.[1];
    total += Number(count) * (ms ?? 0);
  }
  return total > 0 && Number.isSafeInteger(total) ? total : undefined;
}

export function formatSpan(ms: number): string {
  let rest = Math.round(ms);
  let text = "";
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size);
    if (count === 0) continue;
    text += `${count}${unit}`;
    rest -= count * size;
  }
  return text === "" ? "0s" : text;
}

const niceStepsMs = [
  1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000,
  1_800_000, 3_600_000, 7_200_000, 14_400_000, 43_200_000, 86_400_000,
];

/** About one point for every four pixels, within the API's limit. */
export function chooseStepMs(rangeMs: number, widthPixels: number): number {
  const wanted = rangeMs / Math.max(60, Math.min(2_000, widthPixels / 4));
  return niceStepsMs.find((step) => step >= wanted) ?? Math.ceil(wanted / 86_400_000) * 86_400_000;
}
