/** A query's rows for the client that reads them, by statement or by route (SC60). */

export interface PreviewRequest {
  /** With or without the word PREVIEW. */
  readonly text: string;
  /** How many rows are shown where the text does not say. */
  readonly rowsMax: number;
}

export interface OpenedPreview {
  /** The id of the query, as SHOW QUERIES has it. */
  readonly queryId: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /**
   * Ends with `end`, or throws why there are no more rows. When it is returned from, or the signal
   * of the request aborts, the query is dropped.
   */
  readonly events: AsyncGenerator<PreviewEvent>;
}

export type PreviewEvent =
  | {
      readonly kind: "rows";
      /** Each row as an array in JSON. */
      readonly lines: readonly string[];
      /** How many rows were left out so far, because they were read too slowly. */
      readonly leftOut: number;
    }
  /** For people: why no row has arrived for a while. */
  | { readonly kind: "waiting"; readonly reason: string }
  | {
      readonly kind: "end";
      readonly reason: PreviewEnd;
      readonly rowCount: number;
      readonly leftOut: number;
      readonly durationMs: number;
      readonly workerId: string;
    };

/**
 * `limit`: as many rows as were asked for. `ended`: the sources have ended. `time`: it was shown
 * for long enough. `dropped`: somebody has dropped the query.
 */
export type PreviewEnd = "limit" | "ended" | "time" | "dropped";

/** Rejects until the query is accepted. */
export type OpenPreview = (request: PreviewRequest, signal: AbortSignal) => Promise<OpenedPreview>;

/** The rows of a preview that does not say how many. */
export const previewRowsDefault = 1_000;
