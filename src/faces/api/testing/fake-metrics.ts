/** In-memory metrics behind the API's ports: records requests and returns configured answers. */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { QueryId } from "../../../ground/kernel/ids.ts";
import type {
  AppendOutcome,
  Exemplar,
  HeadSnapshot,
  HeadStats,
  ImportOptions,
  ImportProgress,
  ImportResult,
  IngestService,
  MetricMetadata,
  RemoteWriteResult,
  TargetStatus,
} from "../../../kinds/ask/metrics/index.ts";
import type { Matcher } from "../../../kinds/ask/promql/core/index.ts";
import type {
  PromqlAnswer,
  PromqlEvent,
  PromqlExplanation,
  PromqlRequest,
  PromqlService,
  SeriesRequest,
} from "../../../kinds/ask/run/index.ts";

const empty = { status: "success", data: { resultType: "vector", result: [] } };

export class FakePromql implements PromqlService {
  readonly asked: PromqlRequest[] = [];
  readonly askedSeries: SeriesRequest[] = [];
  /** Thrown by the next query. */
  failure: Error | undefined;
  names: readonly string[] = ["__name__", "job"];
  answer: Uint8Array = Buffer.from(JSON.stringify(empty));
  events: (signal: AbortSignal) => AsyncIterable<PromqlEvent> = async function* () {
    yield { event: "done" as const };
  };

  async query(request: PromqlRequest): Promise<PromqlAnswer> {
    this.asked.push(request);
    this.#fail();
    return { queryId: "q-1" as QueryId, json: this.answer };
  }

  async stream(request: PromqlRequest, signal: AbortSignal): Promise<AsyncIterable<PromqlEvent>> {
    this.asked.push(request);
    this.#fail();
    return this.events(signal);
  }

  async explain(): Promise<PromqlExplanation> {
    return { resultType: "vector", formatted: "up", leaves: [], tree: "up" };
  }

  async series(request: SeriesRequest): Promise<{ json: Uint8Array; truncated: boolean }> {
    this.askedSeries.push(request);
    const json = Buffer.from('[{"__name__":"up","job":"a"}]');
    return { json, truncated: request.limit === 1 };
  }

  async labelNames(
    request: SeriesRequest,
  ): Promise<{ names: readonly string[]; truncated: boolean }> {
    this.askedSeries.push(request);
    return { names: this.names, truncated: false };
  }

  async labelValues(
    name: string,
    request: SeriesRequest,
  ): Promise<{ values: readonly string[]; truncated: boolean }> {
    this.askedSeries.push(request);
    return { values: [`value of ${name}`], truncated: false };
  }

  async format(query: string): Promise<string> {
    return query;
  }

  async parse(query: string): Promise<unknown> {
    return { text: query };
  }

  #fail(): void {
    const { failure } = this;
    this.failure = undefined;
    if (failure !== undefined) throw failure;
  }
}

export class FakeIngest implements IngestService {
  readonly bodies: { body: Uint8Array; contentType: string; contentEncoding: string }[] = [];
  imported = "";
  aborted = 0;
  result: RemoteWriteResult = {
    status: 204,
    message: undefined,
    samples: 3,
    histograms: 1,
    exemplars: 0,
  };
  kept: MetricMetadata[] = [];
  targetList: TargetStatus[] = [];

  async remoteWrite(
    body: Uint8Array,
    contentType: string,
    contentEncoding: string,
  ): Promise<RemoteWriteResult> {
    this.bodies.push({ body, contentType, contentEncoding });
    return this.result;
  }

  async import(
    chunks: AsyncIterable<Uint8Array>,
    _options: ImportOptions,
    onProgress: (progress: ImportProgress) => void,
    signal: AbortSignal,
  ): Promise<ImportResult> {
    let text = "";
    for await (const chunk of chunks) {
      text += Buffer.from(chunk).toString();
      if (text.includes("bad")) {
        throw new OperatingError("bad_request", "never", "line 2: bad");
      }
      onProgress({ bytes: text.length, samples: text.length, series: 1 });
    }
    if (signal.aborted) {
      this.aborted += 1;
      throw new OperatingError("cancelled", "never", "given up");
    }
    this.imported = text;
    return { bytes: text.length, samples: text.length, series: 1, skipped: 0, problems: [] };
  }

  async metadata(): Promise<readonly MetricMetadata[]> {
    return this.kept;
  }

  async exemplars(_sets: readonly (readonly Matcher[])[]): Promise<readonly Exemplar[]> {
    return [];
  }

  async targets(): Promise<readonly TargetStatus[]> {
    return this.targetList;
  }

  async snapshot(): Promise<HeadSnapshot> {
    throw new OperatingError("unsupported", "never", "no head here");
  }

  async append(): Promise<AppendOutcome> {
    throw new OperatingError("unsupported", "never", "no head here");
  }

  async stats(): Promise<HeadStats> {
    const none = { minTs: 0, maxTs: 0, walBytes: 0, sealSeq: 0, appendSeq: 0 };
    return { seriesCount: 2, sampleCount: 4, ...none };
  }

  async seal(): Promise<void> {}

  async close(): Promise<void> {}
}
