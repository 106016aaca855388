/** What a subscription to the catalog asks for, and what it is sent. */
import type { Revision } from "../../../ground/kernel/ids.ts";

export interface WatchRequest {
  readonly table: string | undefined;
  readonly select: string | undefined;
  readonly fromRevision: Revision | undefined;
}

export type WatchMessage =
  | {
      readonly type: "SNAPSHOT";
      readonly revision: number;
      readonly data: readonly Readonly<Record<string, unknown>>[];
    }
  | {
      readonly type: "EVENT";
      readonly op: "CREATE" | "UPDATE" | "DROP";
      readonly key: string;
      readonly revision: number;
      readonly data?: Readonly<Record<string, unknown>>;
    };
