/** What a process and its stream threads say to each other. */
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import { withoutPaths } from "../../../../ground/kernel/without-paths.ts";
import type { ErrorRules } from "../../../../ground/threads/index.ts";
import { DialectError, type DialectErrorNumber, type Position } from "../../language/core/index.ts";
import type { FragmentProgress } from "../core/progress.ts";
import type {
  EncodedFragment,
  EndedFragment,
  FragmentSpec,
  QueryRun,
} from "../core/stream-host.ts";
import type { SystemRequests } from "../core/system-rows.ts";
import type { ExchangeClientOptions } from "../exchange/exchange-client.ts";
import type { PeerMeasures } from "../exchange/measure-peer.ts";
import type { LakeRequests } from "../lake/fragment-lake.ts";
import type { PreviewPiece } from "../preview/preview-outlets.ts";
import type { StreamMemoryWords } from "./stream-memory.ts";

export interface StreamThreadOptions {
  readonly sourceDir: string;
  readonly sinkDir: string;
  /** Whether File sees those two directories and nothing else (SU60). */
  readonly confined: boolean;
  readonly memory: StreamMemoryWords;
  /** How other processes' exchange ports are reached; absent: there is no exchange with any. */
  readonly exchange: Pick<ExchangeClientOptions, "headers" | "tls"> | undefined;
  /** Where files for the lake are written; absent: there is no lake. */
  readonly lakeStagingDir: string | undefined;
}

export interface DeployRequest {
  readonly run: QueryRun;
  readonly specs: readonly FragmentSpec[];
  /** The edges from and to other threads, by `edgePath`. */
  readonly rings: ReadonlyMap<string, SharedArrayBuffer>;
  /** The memory of the whole query. */
  readonly pages: SharedArrayBuffer;
}

export interface StreamThread {
  readonly requests: {
    deploy(request: DeployRequest): undefined;
    /** Answers when all fragments of the run on this thread have ended, or fails with the first. */
    start(run: QueryRun): undefined;
    progress(run: QueryRun): readonly FragmentProgress[];
    stop(run: QueryRun): undefined;
    /** What the exchange with each other process was measured to be. */
    measures(none: undefined): readonly PeerMeasures[];
  };
  readonly notes: {
    drain: { readonly run: QueryRun; readonly suspend: boolean };
    trigger: { readonly run: QueryRun; readonly checkpoint: number };
    completed: { readonly run: QueryRun; readonly checkpoint: number };
  };
}

export interface StreamThreadOwner {
  /** Without a lake there is nobody who asks for it. */
  readonly requests: LakeRequests &
    SystemRequests & {
      /** Answers when there is room for more. */
      print(rows: { readonly sink: string; readonly text: string }): undefined;
      openPreview(run: QueryRun): undefined;
      /** Answers when there is room for more. */
      givePreview(given: PreviewPiece & { readonly run: QueryRun }): undefined;
      /** Answers when the reader has everything, or the run was stopped. */
      endPreview(run: QueryRun): undefined;
    };
  readonly notes: {
    acknowledged: {
      readonly run: QueryRun;
      readonly checkpoint: number;
      readonly state: EncodedFragment;
    };
    ended: { readonly run: QueryRun; readonly fragment: string; readonly ended: EndedFragment };
    told: string;
  };
}

interface DialectErrorData {
  readonly number: DialectErrorNumber;
  readonly message: string;
  readonly position: Position | undefined;
  readonly hint: string | undefined;
}

/** An error in a fragment ends its query and no other. */
export const streamThreadErrors: ErrorRules = {
  translate: (thrown) =>
    new OperatingError("query_failed", "never", withoutPaths(messageOf(thrown))),
  own: {
    encode: (thrown): DialectErrorData | undefined => {
      if (!(thrown instanceof DialectError)) return undefined;
      const { number, message, position, hint } = thrown;
      return { number, message, position, hint };
    },
    decode: (data) => {
      const { number, message, position, hint } = data as DialectErrorData;
      return new DialectError(number, message, { position, hint });
    },
  },
};
