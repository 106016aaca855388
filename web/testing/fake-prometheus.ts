/** The Prometheus part of the fake API: names to complete, and a result for every query. */
import type { ServerResponse } from "node:http";

const jobs = ["api", "checkout", "search"];
const metrics = ["capstan_queries_total", "http_requests_total", "process_cpu_seconds_total", "up"];

/** Replaces the answer in a test; returns undefined to keep the default answer. */
export type QueryHandler = (form: URLSearchParams, response: ServerResponse) => void;

/** Returns false when the path is not one of Prometheus's. */
export function answerPrometheus(
  path: string,
  form: URLSearchParams,
  response: ServerResponse,
  query: QueryHandler | undefined,
): boolean {
  if (path === "/api/v1/query_stream") (query ?? answerQuery)(form, response);
  else if (path === "/api/v1/label/__name__/values") send(response, metrics);
  else if (path === "/api/v1/label/job/values") send(response, jobs);
  else if (path === "/api/v1/labels") send(response, ["__name__", "instance", "job"]);
  else if (path === "/api/v1/metadata") {
    send(response, {
      up: [{ type: "gauge", help: "Whether the last scrape succeeded.", unit: "" }],
    });
  } else if (path === "/api/v1/series") {
    send(
      response,
      jobs.map((job) => ({ __name__: "up", job, instance: "a:1" })),
    );
  } else if (path === "/api/v1/status/flags") send(response, {});
  else return false;
  return true;
}

export function sendEvent(response: ServerResponse, event: string, data: unknown): void {
  response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

export function failQuery(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ status: "error", errorType: "bad_data", error }));
}

/** Two parts of a smooth curve for each job; an instant query gets its end. */
function answerQuery(form: URLSearchParams, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const end = Number(form.get("end") ?? form.get("time"));
  const start = Number(form.get("start") ?? end);
  const step = Number(form.get("step") ?? 1);
  const middle = start + Math.floor((end - start) / step / 2) * step;
  let points = 0;
  const part = (from: number, to: number): void => {
    const result = jobs.map((job, index) => {
      const values: [number, string][] = [];
      for (let at = from; at <= to; at += step) values.push([at, String(valueAt(at, index))]);
      points += values.length;
      const metric = { job };
      return form.has("start") ? { metric, values } : { metric, value: values[0] };
    });
    const resultType = form.has("start") ? "matrix" : "vector";
    sendEvent(response, "result", { resultType, result });
  };
  part(start, form.has("start") ? middle : end);
  if (form.has("start")) part(middle + step, end);
  sendEvent(response, "summary", summaryOf(form.get("query") ?? "", points));
  sendEvent(response, "done", {});
  response.end();
}

function valueAt(seconds: number, index: number): number {
  const wave = Math.sin(seconds / (400 + 90 * index)) + 0.3 * Math.sin(seconds / 61 + index);
  return Math.round((40 + 25 * index + (14 - 3 * index) * wave) * 1_000) / 1_000;
}

function summaryOf(query: string, pointCount: number): unknown {
  const work = { attempts: 1, series: 12, artifactBytes: 48_200 };
  return {
    queryId: "q-5d2k9x",
    resultType: "matrix",
    seriesCount: jobs.length,
    pointCount,
    warnings: [],
    infos: [],
    stages: {
      planMs: 1.4,
      queueMs: 0.6,
      workMs: 38,
      fetchMs: 4.1,
      evalMs: 6.3,
      totalMs: 51,
      firstResultMs: 29,
    },
    leaves: [
      {
        text: query,
        output: "partials",
        segmentCount: 14,
        fromHead: true,
        works: [
          { ...work, shard: 0, workerId: "worker-1", samples: 172_800, workMs: 31 },
          { ...work, shard: 1, workerId: "worker-2", samples: 169_400, workMs: 38 },
        ],
      },
    ],
  };
}

function send(response: ServerResponse, data: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ status: "success", data }));
}
