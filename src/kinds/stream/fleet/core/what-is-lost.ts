/**
 * What a query that goes on from its last checkpoint has lost: what those of its sources gave since
 * then that cannot be read again. Pure. Rule: SD44.
 */
import {
  type Plan,
  type SourceOp,
  sourceDescriptors,
  systemStreams,
  systemType,
} from "../../language/core/index.ts";

/** `undefined`: nothing. `last` is the last complete checkpoint, if there is one. */
export function whatIsLost({ nodes }: Plan, last: number | undefined): string | undefined {
  const sources = nodes.flatMap(({ op }) =>
    op.kind === "source" && !isReplayable(op) ? [`${op.name} (${op.type})`] : [],
  );
  if (sources.length === 0) return undefined;
  const since = last === undefined ? "so far" : `since checkpoint ${last}`;
  return `what ${sources.join(" and ")} gave ${since} is lost, since it cannot be read again`;
}

function isReplayable({ type, config }: SourceOp): boolean {
  if (type !== systemType) {
    return sourceDescriptors.find((each) => each.type === type)?.replayable === true;
  }
  const stream = systemStreams.find(({ name }) => name === config.STREAM);
  return stream !== undefined && stream.guarantee !== "at most once";
}
