/**
 * Reads the `#` lines of a text: the family of the lines that follow, and its type, help and unit.
 */
import type { MetricMetadata } from "../../model.ts";
import { quoted } from "../labels-text.ts";
import { SeriesProblem, type TextFormat, unescapeHelp, unescapeText } from "./parse-series.ts";

interface Family {
  readonly type: MetricMetadata["type"];
  readonly help: string;
  readonly unit: string;
}

const unknownFamily: Family = { type: "unknown", help: "", unit: "" };

const types: Readonly<Record<TextFormat, ReadonlyMap<string, MetricMetadata["type"]>>> = {
  prometheus: new Map([
    ["counter", "counter"],
    ["gauge", "gauge"],
    ["histogram", "histogram"],
    ["summary", "summary"],
    ["untyped", "unknown"],
  ]),
  openmetrics: new Map([
    ["counter", "counter"],
    ["gauge", "gauge"],
    ["histogram", "histogram"],
    ["gaugehistogram", "gaugehistogram"],
    ["summary", "summary"],
    ["info", "info"],
    ["stateset", "stateset"],
    ["unknown", "unknown"],
  ]),
};

const patterns: Readonly<Record<TextFormat, RegExp>> = {
  prometheus: /^#[ \t]+(HELP|TYPE)[ \t]+(.*)$/,
  openmetrics: /^# (HELP|TYPE|UNIT) (.*)$/,
};

const metricName = /^(?:"((?:\\.|[^\\"])*)"|([a-zA-Z_:][a-zA-Z0-9_:]*))/;

export class MetricFamilies {
  readonly #format: TextFormat;
  readonly #families = new Map<string, Family>();
  #changed = new Set<string>();
  /** The family of the lines that follow. */
  family = "";
  type: MetricMetadata["type"] = "unknown";

  constructor(format: TextFormat) {
    this.#format = format;
  }

  get count(): number {
    return this.#families.size;
  }

  /** Starts another text. The known families are kept. */
  reset(): void {
    this.family = "";
    this.type = "unknown";
  }

  /** `line` begins with `#` and is not `# EOF`. Throws `SeriesProblem`. */
  read(line: string): void {
    const isOpenMetrics = this.#format === "openmetrics";
    const [, keyword, rest] = patterns[this.#format].exec(line) ?? [];
    if (keyword === undefined || rest === undefined) {
      if (!isOpenMetrics) return;
      const got = quoted(line.slice(0, 100));
      throw new SeriesProblem(`expected a valid start token, got ${got}`);
    }
    const name = metricName.exec(rest);
    if (name === null) throw new SeriesProblem(`expected metric name after ${keyword}`);
    const behind = rest.slice(name[0].length);
    if (isOpenMetrics && !behind.startsWith(" ")) {
      throw new SeriesProblem(`expected text in ${keyword}`);
    }
    const metric = name[1] === undefined ? (name[2] as string) : unescapeText(name[1]);
    this.#learn(keyword, metric, behind.slice(1));
  }

  /** The families that were described since the last call. */
  takeChanged(): MetricMetadata[] {
    const changed = [...this.#changed];
    this.#changed = new Set();
    return changed.map((metric) => ({ metric, ...(this.#families.get(metric) ?? unknownFamily) }));
  }

  #learn(keyword: string, metric: string, text: string): void {
    const before = this.#families.get(metric);
    const family = this.#with(before ?? unknownFamily, keyword, metric, text);
    this.family = metric;
    this.type = family.type;
    this.#families.set(metric, family);
    const isSame =
      before?.type === family.type && before.help === family.help && before.unit === family.unit;
    if (!isSame) this.#changed.add(metric);
  }

  #with(family: Family, keyword: string, metric: string, text: string): Family {
    if (keyword === "TYPE") {
      const type = types[this.#format].get(text);
      if (type === undefined) throw new SeriesProblem(`invalid metric type ${quoted(text)}`);
      return { ...family, type };
    }
    if (keyword === "HELP") {
      const help = this.#format === "openmetrics" ? unescapeText(text) : unescapeHelp(text);
      return { ...family, help };
    }
    if (text !== "" && !metric.endsWith(`_${text}`)) {
      throw new SeriesProblem(`unit ${quoted(text)} not a suffix of metric ${quoted(metric)}`);
    }
    return { ...family, unit: text };
  }
}
