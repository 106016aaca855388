/**
 * What all PromQL threads share: how they start, and which errors they return. Their young
 * generation is small (QP33): V8 would let it grow to 32 MiB and more, and would free buffers
 * outside of the heap only when it is full. No measured query is faster with more.
 */
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { withoutPaths } from "../../../ground/kernel/without-paths.ts";
import {
  type ErrorRules,
  type Peer,
  type Side,
  type Silent,
  startThread,
  type ThreadOptions,
} from "../../../ground/threads/index.ts";
import { ExecutorBroken } from "../../../ground/work/core/index.ts";
import { type Position, PromqlError } from "../promql/core/index.ts";

/** Three semi-spaces of 4 MiB. */
const youngMegabytesMax = 12;

interface PromqlErrorData {
  readonly stage: PromqlError["stage"];
  readonly message: string;
  readonly position: Position | undefined;
}

/** An error in a query's computation ends that query and no other. */
export const queryThreadErrors: ErrorRules = {
  translate: (thrown) =>
    new OperatingError("query_failed", "never", withoutPaths(messageOf(thrown))),
  own: {
    encode: (thrown): PromqlErrorData | undefined => {
      if (!(thrown instanceof PromqlError)) return undefined;
      const { stage, message, position } = thrown;
      return { stage, message, position };
    },
    decode: (data) => {
      const { stage, message, position } = data as PromqlErrorData;
      return new PromqlError(stage, message, position);
    },
  },
};

interface QueryThreadOptions<Near extends Side>
  extends Pick<ThreadOptions<Near>, "module" | "options" | "clock" | "handlers"> {
  /** The limit of the thread's JavaScript heap. Columns are outside of it. */
  readonly heapBytesMax?: number;
}

/** When the thread dies, its pending calls fail with `ExecutorBroken`. */
export function startQueryThread<Far extends Side, Near extends Side = Silent>({
  heapBytesMax,
  ...options
}: QueryThreadOptions<Near>): Peer<Far, Near> {
  return startThread<Far, Near>({
    ...options,
    errors: queryThreadErrors,
    lost: (cause) => new ExecutorBroken(`a thread broke: ${cause.message}`),
    worker: {
      resourceLimits: {
        maxYoungGenerationSizeMb: youngMegabytesMax,
        ...(heapBytesMax !== undefined && {
          maxOldGenerationSizeMb: Math.ceil(heapBytesMax / 1024 ** 2),
        }),
      },
    },
  });
}
