/** What a keeper of fragments hears, and what it wants done. */
import type {
  EncodedFragment,
  FragmentSpec,
  ManifestFragment,
  Prepared,
  QueryRun,
} from "../../run/core/index.ts";
import type { FragmentError, FragmentReport, StreamCommand } from "./commands.ts";

export type KeeperEvent =
  | { readonly kind: "command"; readonly session: string; readonly command: StreamCommand }
  /** What the effects `deploy` and `stop` came to. */
  | { readonly kind: "deployed"; readonly run: QueryRun }
  | { readonly kind: "deployFailed"; readonly run: QueryRun; readonly error: FragmentError }
  | { readonly kind: "stopped"; readonly run: QueryRun }
  | {
      readonly kind: "acknowledged";
      readonly run: QueryRun;
      readonly checkpoint: number;
      readonly state: EncodedFragment;
    }
  | { readonly kind: "ended"; readonly run: QueryRun; readonly state: EncodedFragment }
  /** Also when the state of a checkpoint cannot be stored. */
  | { readonly kind: "failed"; readonly run: QueryRun; readonly error: FragmentError }
  | {
      readonly kind: "stored";
      readonly run: QueryRun;
      readonly checkpoint: number;
      readonly state: ManifestFragment;
    }
  /** The time of the effect `wait` is over. */
  | { readonly kind: "waited"; readonly run: QueryRun };

/** In the order in which they have to be done. */
export type KeeperEffect =
  | {
      readonly kind: "deploy";
      readonly run: QueryRun;
      readonly specs: readonly FragmentSpec[];
      readonly restore: readonly ManifestFragment[] | undefined;
    }
  | { readonly kind: "start"; readonly run: QueryRun }
  | { readonly kind: "drain"; readonly run: QueryRun; readonly suspend: boolean }
  /** Whatever is under way, also what was never started. */
  | { readonly kind: "stop"; readonly run: QueryRun }
  | { readonly kind: "trigger"; readonly run: QueryRun; readonly checkpoint: number }
  | { readonly kind: "completed"; readonly run: QueryRun; readonly checkpoint: number }
  | {
      readonly kind: "store";
      readonly run: QueryRun;
      readonly checkpoint: number;
      readonly state: EncodedFragment;
      /** The fragment in the last complete checkpoint. */
      readonly previous: ManifestFragment | undefined;
    }
  | { readonly kind: "setFact"; readonly key: string; readonly value: string }
  | { readonly kind: "unsetFact"; readonly key: string }
  /** States that changed without a command; every coordinator is told at once (SD30). */
  | { readonly kind: "tell"; readonly run: QueryRun; readonly fragments: readonly FragmentReport[] }
  /** The version of the facts is that of now. */
  | { readonly kind: "answer"; readonly session: string; readonly answer: KeeperAnswer }
  | {
      readonly kind: "checkpointed";
      readonly session: string;
      readonly run: QueryRun;
      readonly checkpoint: number;
      readonly state: ManifestFragment;
      readonly prepared: Prepared;
    }
  | { readonly kind: "wait"; readonly run: QueryRun; readonly ms: number };

export interface KeeperAnswer extends QueryRun {
  readonly command: number;
  readonly error: FragmentError | undefined;
  readonly fragments: readonly FragmentReport[];
}
