/**
 * Texts of labels, made once: a dashboard's queries have the same series again and again. Labels are immutable and, on a worker,
 * the same objects for as long as their segment is open; in a thread that evaluates, this keeps them so.
 */
import { Labels } from "../promql/core/index.ts";
import { textJson } from "./json-sink.ts";

const pairTexts = new WeakMap<Labels, string>();
const metricTexts = new WeakMap<Labels, string>();

/** `["name","value",…]` */
export function pairsJson(labels: Labels): string {
  let text = pairTexts.get(labels);
  if (text === undefined) {
    text = JSON.stringify(labels.pairs);
    pairTexts.set(labels, text);
  }
  return text;
}

/** `{"name":"value",…}`, in the order of the names. */
export function metricJson(labels: Labels): string {
  let text = metricTexts.get(labels);
  if (text === undefined) {
    text = objectJson(labels);
    metricTexts.set(labels, text);
  }
  return text;
}

/** By their `pairsJson`. When there are too many it begins anew. */
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
