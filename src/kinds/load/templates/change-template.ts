/** What a command line or a form changes of a template before it is run. */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { suggestField } from "../../../ground/kernel/unknown-field.ts";
import type { TemplateDocument } from "./document.ts";
import { parseTemplate } from "./parse-template.ts";
import { kindOfUrl } from "./target-url.ts";

const sections = ["target", "workload", "scaling", "find_max", "guardrails", "verdict"] as const;

const shortNames: Readonly<Record<string, string>> = {
  connections: "workload.concurrent_connections",
  duration: "workload.duration_seconds",
  warmup: "workload.warmup_seconds",
  ramp: "workload.ramp_seconds",
  qps: "workload.target_qps",
  mode: "workload.load_mode",
  workers: "scaling.worker_count",
  table: "target.table_name",
};

/**
 * The same template on another target; a URL with a password is refused. Statements follow the
 * kind.
 */
export function withTarget(document: TemplateDocument, url: string): TemplateDocument {
  const kind = kindOfUrl(url);
  const { kind: _, ...target } = document.target;
  return parseTemplate(
    { ...document, target: { ...target, url, ...(kind && { kind }) } },
    poolsOf(document),
  );
}

/** `duration=30`, `scale=10`, `workload.seed=7`, `scaling.mode=FIXED`. Throws `bad_request`. */
export function withSettings(
  document: TemplateDocument,
  settings: readonly string[],
): TemplateDocument {
  const changed = structuredClone(document) as unknown as Record<string, Record<string, unknown>>;
  for (const setting of settings) {
    const at = setting.indexOf("=");
    if (at <= 0) throw badSetting(setting, "expected name=value");
    const [section, field] = placeOf(document, setting.slice(0, at).trim());
    const values = changed[section] ?? {};
    values[field] = settingOf(setting.slice(at + 1).trim());
    if (field === "load_mode") changed.find_max = { ...changed.find_max, enabled: undefined };
    if (field === "target_qps" && values.load_mode === "CONCURRENCY") values.load_mode = "QPS";
  }
  return parseTemplate(changed, poolsOf(document));
}

function placeOf(document: TemplateDocument, name: string): readonly [string, string] {
  const path = shortNames[name] ?? name;
  const all = sections.flatMap((section) =>
    Object.keys(document[section]).map((field) => `${section}.${field}`),
  );
  const found = all.filter((each) => each === path || each.endsWith(`.${path}`));
  const [only] = found;
  if (only !== undefined && found.length === 1) {
    const dot = only.indexOf(".");
    return [only.slice(0, dot), only.slice(dot + 1)];
  }
  if (found.length > 1) throw badSetting(name, `it may be ${found.join(" or ")}`);
  const meant = suggestField(path, [...Object.keys(shortNames), ...all]);
  throw badSetting(name, meant === undefined ? "there is none" : `did you mean ${meant}?`);
}

function settingOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Those that the document refers to are known by whoever has it. */
function poolsOf({ workload }: TemplateDocument): readonly string[] {
  return workload.operations.flatMap(({ parameters }) =>
    Object.values(parameters).flatMap((value) => (value.kind === "pool" ? [value.pool] : [])),
  );
}

function badSetting(name: string, message: string): OperatingError {
  const shown = name.split("=", 1)[0]?.slice(0, 60) ?? "";
  return new OperatingError("bad_request", "never", `the setting ${shown}: ${message}`);
}
