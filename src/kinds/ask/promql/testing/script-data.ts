/**
 * Loads of a script as columns, each as what it adds to those since the last `clear`.
 * A series' samples are in the order of time. A second load adds to the first; of two samples for one time the first
 * counts.
 */
import type { FloatHistogram, RawSeries, SampleColumns } from "../core/index.ts";
import { customBucketSeries } from "./classic-histograms.ts";
import type { LoadCommand, ScriptSeries } from "./script.ts";

interface Sample {
  readonly ts: number;
  readonly value: number;
  readonly stale: boolean;
  readonly histogram: FloatHistogram | undefined;
  readonly startTs: number;
}

export class ScriptData {
  /** Of each series, by the key of its labels. */
  readonly #last = new Map<string, Sample>();

  clear(): void {
    this.#last.clear();
  }

  /** What the load adds. */
  load(command: LoadCommand): RawSeries[] {
    const derived = command.withCustomBuckets ? customBucketSeries(command.series) : [];
    // Of a series that one load describes twice, the last description counts.
    const described = new Map(command.series.map((series) => [series.labels.key, series]));
    return [...described.values(), ...derived].map((series) => this.#add(series, command.stepMs));
  }

  #add({ labels, values, startOffsetsMs }: ScriptSeries, stepMs: number): RawSeries {
    const added: Sample[] = [];
    let last = this.#last.get(labels.key);
    for (const [index, value] of values.entries()) {
      const ts = index * stepMs;
      if (value.kind === "absent" || (last !== undefined && last.ts >= ts)) continue;
      const startOffsetMs = startOffsetsMs?.[index];
      last = {
        ts,
        value: value.kind === "float" ? value.value : 0,
        stale: value.kind === "stale",
        histogram: value.kind === "histogram" ? value.histogram : undefined,
        startTs: startOffsetMs === undefined ? 0 : ts + startOffsetMs,
      };
      added.push(last);
    }
    if (last !== undefined) this.#last.set(labels.key, last);
    return { labels, samples: toColumns(added) };
  }
}

function toColumns(samples: readonly Sample[]): SampleColumns {
  return {
    count: samples.length,
    ts: Float64Array.from(samples, ({ ts }) => ts),
    values: Float64Array.from(samples, ({ value }) => value),
    stale: samples.some(({ stale }) => stale)
      ? Uint8Array.from(samples, ({ stale }) => Number(stale))
      : undefined,
    histograms: samples.some(({ histogram }) => histogram !== undefined)
      ? samples.map(({ histogram }) => histogram)
      : undefined,
    startTs: samples.some(({ startTs }) => startTs !== 0)
      ? Float64Array.from(samples, ({ startTs }) => startTs)
      : undefined,
  };
}
