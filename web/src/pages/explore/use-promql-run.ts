/**
 * Runs one query at a time for one panel. Starting another cancels the current one. Cancelling
 * closes the connection, which the coordinator notices. A result that was overtaken changes
 * nothing.
 */
import { useCallback, useEffect, useRef, useState } from "react";
import { useCluster } from "../../api/cluster.ts";
import { ApiError, request } from "../../api/http.ts";
import { SseParser } from "../../api/sse.ts";
import {
  type PromqlResult,
  type QueryTime,
  type ResultPart,
  ResultReader,
} from "./promql-result.ts";
import type { QuerySummary } from "./query-summary.ts";

export interface RunRequest {
  readonly query: string;
  readonly at: QueryTime;
}

export interface Run {
  readonly status: "idle" | "running" | "done" | "failed" | "cancelled";
  readonly request: RunRequest | undefined;
  readonly result: PromqlResult | undefined;
  readonly summary: QuerySummary | undefined;
  readonly error: string | undefined;
  readonly durationMs: number;
}

const idle: Run = {
  status: "idle",
  request: undefined,
  result: undefined,
  summary: undefined,
  error: undefined,
  durationMs: 0,
};

export interface PromqlRun {
  readonly run: Run;
  readonly start: (asked: RunRequest) => void;
  readonly cancel: () => void;
  /** Cancels the query and shows nothing. */
  readonly clear: () => void;
}

export function usePromqlRun(): PromqlRun {
  const cluster = useCluster();
  const [run, setRun] = useState(idle);
  const aborter = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => aborter.current?.abort(), []);

  const start = useCallback(
    (asked: RunRequest) => {
      aborter.current?.abort();
      const own = new AbortController();
      aborter.current = own;
      const startedMs = performance.now();
      const tell = (change: Partial<Run>): void => {
        if (aborter.current !== own) return;
        setRun((before) => ({ ...before, ...change, durationMs: performance.now() - startedMs }));
      };
      // The old result stays until the new one arrives, so that a refresh does not flicker.
      tell({ status: "running", request: asked, error: undefined });
      follow(asked, own.signal, tell).catch((error: unknown) => {
        if (own.signal.aborted) {
          tell({ status: "cancelled" });
          return;
        }
        if (error instanceof ApiError && error.status === 401) cluster.promptForToken("refused");
        const message = error instanceof Error ? error.message : String(error);
        tell({ status: "failed", error: message, result: undefined, summary: undefined });
      });
    },
    [cluster],
  );
  const cancel = useCallback(() => aborter.current?.abort(), []);
  const clear = useCallback(() => {
    aborter.current?.abort();
    aborter.current = undefined;
    setRun(idle);
  }, []);
  return { run, start, cancel, clear };
}

async function follow(
  { query, at }: RunRequest,
  signal: AbortSignal,
  tell: (change: Partial<Run>) => void,
): Promise<void> {
  const form = new URLSearchParams({ query });
  if (at.kind === "instant") form.set("time", String(at.timeMs / 1000));
  else {
    form.set("start", String(at.startMs / 1000));
    form.set("end", String(at.endMs / 1000));
    form.set("step", String(at.stepMs / 1000));
  }
  const response = await request("/api/v1/query_stream", { method: "POST", body: form, signal });
  const text = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new SseParser();
  const reader = new ResultReader(at);
  let summary: QuerySummary | undefined;
  for (;;) {
    const chunk = await text?.read();
    if (chunk === undefined || chunk.done) break;
    for (const { event, data } of parser.push(chunk.value)) {
      if (event === "result") {
        reader.push(JSON.parse(data) as ResultPart);
        tell({ result: reader.result() });
      } else if (event === "summary") {
        summary = JSON.parse(data) as QuerySummary;
      } else if (event === "error") {
        throw new Error((JSON.parse(data) as { error: string }).error);
      } else if (event === "done") {
        tell({ status: "done", result: reader.result(), summary });
        return;
      }
    }
  }
  throw new Error("The connection was lost before the result was complete.");
}
