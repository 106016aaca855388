/**
 * Converts a script's loads to columns with what each adds since the last `clear`. Samples are in
 * order of time. Of two samples for one time, the first wins.
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
  /** The last sample of each series, by the key of its labels. */
  readonly #last = new Map<string, Sample>();

  clear(): void {
    this.#last.clear();
  }

  /** Returns what the load adds. */
  load(command: LoadCommand): RawSeries[] {
    const derived = command.withCustomBuckets ? customBucketSeries(command.series) : [];
    // If one load describes a series twice, the last description counts.
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
