/** Runs scripts against the language alone: samples in memory, shards by a hash, no processes. */
import {
  defaultEngineOptions,
  type EngineOptions,
  formatAnnotation,
  PromqlError,
  type QueryParams,
  type RawSeries,
  withStoredHint,
} from "../core/index.ts";
import { evaluateInMemory } from "../core/testing/evaluate-in-memory.ts";
import { appendSeries } from "./append-series.ts";
import type { ScriptAnswer, ScriptEngine } from "./script-engine.ts";

/** The settings that Prometheus's own scripts are written for. */
export const scriptEngineOptions: EngineOptions = { ...defaultEngineOptions, samplesMax: 10_000 };

export function createDirectEngine(
  shardCount: number,
  options: EngineOptions = scriptEngineOptions,
): ScriptEngine {
  const byKey = new Map<string, RawSeries>();
  let stored: RawSeries[] = [];
  return {
    concurrency: 1,
    clear: async () => {
      byKey.clear();
      stored = [];
    },
    load: async (series) => {
      for (const each of series) {
        const known = byKey.get(each.labels.key);
        byKey.set(each.labels.key, known === undefined ? each : appendSeries(known, each));
      }
      stored = [...byKey.values()].map(withStoredHints);
    },
    query: async (text, params) => answer(text, params, options, stored, shardCount),
  };
}

/** Scripts expect the hints that histograms from a store have. */
function withStoredHints({ labels, samples }: RawSeries): RawSeries {
  const { histograms } = samples;
  if (histograms === undefined) return { labels, samples };
  const hinted = histograms.map((each, at) => each && withStoredHint(each, histograms[at - 1]));
  return { labels, samples: { ...samples, histograms: hinted } };
}

function answer(
  text: string,
  params: QueryParams,
  options: EngineOptions,
  series: RawSeries[],
  shardCount: number,
): ScriptAnswer {
  try {
    const result = evaluateInMemory(text, params, options, series, shardCount);
    const annotations = result.annotations.map((annotation) => ({
      level: annotation.level,
      text: formatAnnotation(text, annotation),
      bareText: `PromQL ${annotation.level}: ${annotation.message}`,
    }));
    return { kind: "result", result, annotations };
  } catch (error) {
    if (error instanceof PromqlError) return { kind: "error", error: error.message };
    throw error;
  }
}
