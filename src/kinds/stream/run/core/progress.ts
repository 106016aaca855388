/** What a fragment, and a query of several, has done so far. Pure. */

export interface SourceProgress {
  readonly node: number;
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  readonly malformed: number;
}

export interface FragmentProgress {
  readonly fragment: string;
  readonly sources: readonly SourceProgress[];
  readonly rowsOut: number;
  readonly lateRows: number;
  /** What the fragment's memory account says: state, buffers and edges. */
  readonly stateBytes: number;
  /** The least event time that rows to come can have, less one; absent before the first one. */
  readonly watermark: bigint | undefined;
  /** Rows that came over exchanges, and how many of them from other places. */
  readonly rowsReceived: { readonly all: number; readonly remote: number };
  /** Records that were left out, the first few, for people. */
  readonly malformedTexts: readonly string[];
  /** To other fragments and, as far as sinks make bytes, to sinks. */
  readonly bytesOut: number;
  /** How long it worked on its thread, and how long it waited for room downstream. */
  readonly busyMs: number;
  readonly waitedMs: number;
  readonly edges: readonly EdgeProgress[];
  /** What holds back the watermark of what leaves the fragment; absent when all has ended. */
  readonly slowest: SlowestEntry | undefined;
}

/** What was sent to one other fragment. */
export interface EdgeProgress {
  readonly exchange: number;
  readonly to: string;
  readonly rows: number;
  readonly bytes: number;
  /** Bytes that were sent and not yet acknowledged. */
  readonly backlogBytes: number;
  /** How long it waited for room at the receiver. */
  readonly waitedMs: number;
  /** The newest watermark that was sent; absent before the first one and after the end. */
  readonly watermark: bigint | undefined;
}

/** Where rows and time enter a fragment. */
export type SlowestEntry =
  | { readonly kind: "source"; readonly name: string }
  | { readonly kind: "fragment"; readonly fragment: string };

export type QueryProgress = Omit<
  FragmentProgress,
  "fragment" | "bytesOut" | "busyMs" | "waitedMs" | "edges" | "slowest"
>;

/** The fragments of one query together. */
export function sumProgress(parts: readonly FragmentProgress[]): QueryProgress {
  const sum = (pick: (part: FragmentProgress) => number): number =>
    parts.reduce((total, part) => total + pick(part), 0);
  const watermarks = parts.flatMap(({ watermark }) => watermark ?? []);
  return {
    sources: parts.flatMap(({ sources }) => sources).sort((a, b) => a.node - b.node),
    rowsOut: sum(({ rowsOut }) => rowsOut),
    lateRows: sum(({ lateRows }) => lateRows),
    stateBytes: sum(({ stateBytes }) => stateBytes),
    watermark: watermarks.reduce<bigint | undefined>(
      (least, each) => (least === undefined || each < least ? each : least),
      undefined,
    ),
    rowsReceived: {
      all: sum(({ rowsReceived }) => rowsReceived.all),
      remote: sum(({ rowsReceived }) => rowsReceived.remote),
    },
    malformedTexts: parts.flatMap(({ malformedTexts }) => malformedTexts),
  };
}
