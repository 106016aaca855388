/**
 * Caches the texts of labels, because a dashboard's queries return the same series again and again.
 * Labels are immutable. On a worker they are the same objects while their segment is open; in an
 * evaluation thread this cache keeps them the same.
 */
import { Labels } from "../promql/core/index.ts";
import { textJson } from "./json-sink.ts";

const metricTexts = new WeakMap<Labels, string>();

/** `["name","value",…]` */
export function pairsJson(labels: Labels): string {
  return JSON.stringify(labels.pairs);
}

/** `{"name":"value",…}`, ordered by name. */
export function metricJson(labels: Labels): string {
  let text = metricTexts.get(labels);
  if (text === undefined) {
    text = objectJson(labels);
    metricTexts.set(labels, text);
  }
  return text;
}

/** Labels by their `pairsJson`. The cache is emptied when it holds too many. */
export class LabelsReader {
  readonly #known = new Map<string, Labels>();
  readonly #labelSetsMax: number;
  readonly #charactersMax: number;
  #characters = 0;

  constructor(labelSetsMax = 200_000, charactersMax = 64 * 1024 ** 2) {
    this.#labelSetsMax = labelSetsMax;
    this.#charactersMax = charactersMax;
  }

  get size(): number {
    return this.#known.size;
  }

  read(text: string): Labels {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const labels = new Labels(JSON.parse(text) as string[]);
    this.#characters += text.length;
    if (this.#known.size >= this.#labelSetsMax || this.#characters > this.#charactersMax) {
      this.#known.clear();
      this.#characters = text.length;
    }
    this.#known.set(text, labels);
    return labels;
  }
}

function objectJson({ pairs }: Labels): string {
  let json = "{";
  for (let index = 0; index < pairs.length; index += 2) {
    if (index > 0) json += ",";
    json += `${textJson(pairs[index] as string)}:${textJson(pairs[index + 1] as string)}`;
  }
  return `${json}}`;
}
