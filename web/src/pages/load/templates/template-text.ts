/**
 * A template as text. The form beside the editor changes the same text and keeps everything else as
 * written, including comments. Pure.
 */
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import type { LoadMode, TemplateProblem } from "../../../api/gen/types.ts";

/** Offsets in the text. */
interface Place {
  readonly from: number;
  readonly to: number;
}

export interface TextProblem extends TemplateProblem, Place {
  readonly line: number;
}

export type TemplateText =
  | { readonly kind: "document"; readonly value: unknown }
  | { readonly kind: "unreadable"; readonly problem: TextProblem };

/** The most common settings. Undefined when the text has no such value, or not a single one. */
export interface Settings {
  readonly url: string | undefined;
  readonly mode: LoadMode;
  readonly connections: number | undefined;
  readonly qps: number | undefined;
  readonly durationS: number | undefined;
  readonly warmupS: number | undefined;
}

export type SettingName = Exclude<keyof Settings, "url" | "mode">;

const paths: Readonly<Record<SettingName, readonly string[]>> = {
  connections: ["workload", "concurrent_connections"],
  qps: ["workload", "target_qps"],
  durationS: ["workload", "duration_seconds"],
  warmupS: ["workload", "warmup_seconds"],
};
const modePath = ["workload", "load_mode"];

export function readText(text: string): TemplateText {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [error] = document.errors;
  if (error === undefined) return { kind: "document", value: plain(document) };
  const [from, to] = error.pos;
  const [message = "it cannot be read"] = error.message
    .replace(/ at line \d+, column \d+/, "")
    .split("\n");
  const { line } = lines.linePos(from);
  return { kind: "unreadable", problem: { path: "", message, from, to: Math.max(to, from), line } };
}

export function settingsOf(text: string): Settings {
  const document = parseDocument(text);
  const number = (name: SettingName): number | undefined => {
    const value = valueIn(document, paths[name]);
    return typeof value === "number" ? value : undefined;
  };
  const target = valueIn(document, ["target"]);
  const url = typeof target === "string" ? target : valueIn(document, ["target", "url"]);
  const qps = number("qps");
  const mode = valueIn(document, modePath);
  return {
    url: typeof url === "string" ? url : undefined,
    mode: isMode(mode) ? mode : qps === undefined ? "CONCURRENCY" : "QPS",
    connections: number("connections"),
    qps,
    durationS: number("durationS"),
    warmupS: number("warmupS"),
  };
}

/** Undefined removes the setting, so that its default applies. */
export function withSetting(text: string, name: SettingName, value: number | undefined): string {
  return changed(text, (document) => {
    if (value === undefined) document.deleteIn(paths[name]);
    else document.setIn(paths[name], value);
  });
}

/** Only the mode QPS has a rate. */
export function withMode(text: string, mode: LoadMode): string {
  return changed(text, (document) => {
    document.setIn(modePath, mode);
    if (mode !== "QPS") document.deleteIn(paths.qps);
    else if (valueIn(document, paths.qps) === undefined) document.setIn(paths.qps, 100);
  });
}

/** The target's kind follows from the URL, so it is removed. */
export function withUrl(text: string, url: string): string {
  return changed(text, (document) => {
    if (isMap(document.get("target"))) {
      document.setIn(["target", "url"], url);
      document.deleteIn(["target", "kind"]);
    } else {
      document.set("target", url);
    }
  });
}

/** Removes the value pools, which are not edited here. */
export function withoutPools(text: string): string {
  return changed(text, (document) => void document.deleteIn(["pools"]));
}

/** Adds to each problem its place in the text, or the nearest one. */
export function placeProblems(
  text: string,
  problems: readonly TemplateProblem[],
): readonly TextProblem[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  return problems.map((problem) => {
    const place = placeOf(document, parsePath(problem.path));
    return { ...problem, ...place, line: lines.linePos(place.from).line };
  });
}

/** `workload.operations[0].weight` */
function parsePath(path: string): readonly (string | number)[] {
  return [...path.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([part, index]) =>
    index === undefined ? part : Number(index),
  );
}

function placeOf(document: Document, path: readonly (string | number)[]): Place {
  for (let length = path.length; length > 0; length -= 1) {
    const found = document.getIn(path.slice(0, length), true);
    const range = isNode(found) ? found.range : undefined;
    const key = keyPlace(document, path.slice(0, length));
    if (isScalar(found) && range) return { from: range[0], to: Math.max(range[1], range[0] + 1) };
    if (key !== undefined) return key;
    if (range) return { from: range[0], to: range[0] + 1 };
  }
  return { from: 0, to: 1 };
}

/** A whole section is marked at its name only. */
function keyPlace(document: Document, path: readonly (string | number)[]): Place | undefined {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (!isMap(parent)) return undefined;
  const pair = parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1));
  const range = isScalar(pair?.key) ? pair.key.range : undefined;
  return range ? { from: range[0], to: range[1] } : undefined;
}

function changed(text: string, change: (document: Document) => void): string {
  const document = parseDocument(text);
  if (document.errors.length > 0) return text;
  change(document);
  return document.toString({ lineWidth: 120 });
}

function valueIn(document: Document, path: readonly string[]): unknown {
  try {
    const value = document.getIn(path);
    return isNode(value) ? undefined : value;
  } catch {
    return undefined; // Another value is where a mapping should be.
  }
}

function plain(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch {
    return undefined;
  }
}

function isMode(value: unknown): value is LoadMode {
  return value === "CONCURRENCY" || value === "QPS" || value === "FIND_MAX_CONCURRENCY";
}
