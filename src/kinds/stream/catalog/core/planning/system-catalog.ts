/**
 * The streams that the cluster makes of itself, as a planner sees them: sources that are there
 * without a row, and cannot be made or dropped (SC70).
 */
import {
  DialectError,
  findSystemStream,
  type Guarantee,
  isSystemName,
  type LogicalSource,
  type PhysicalSource,
  type Position,
  parseQueryText,
  type SourceOp,
  systemPhysical,
  systemPrefix,
  systemSource,
  systemStreams,
  systemType,
  systemViews,
  type ViewDefinition,
} from "../../../language/core/index.ts";
import type { Topology } from "../planner.ts";

export const systemNames: readonly string[] = systemStreams.map(
  ({ name }) => `${systemPrefix}${name}`,
);

export function systemLogicalSource(name: string): LogicalSource | undefined {
  const stream = findSystemStream(name);
  return stream && systemSource(stream);
}

/** A stream of the system in the spelling of other systems, unless a person has the name. */
export function systemView(name: string): ViewDefinition | undefined {
  const found = systemViews.find((view) => view.name === name.toLowerCase());
  return found && { name: found.name, query: parseQueryText(found.definition) };
}

/** One for each worker that takes fragments, where the workers make the rows. */
export function systemPhysicalSources(
  name: string,
  { workers }: Topology,
): readonly PhysicalSource[] | undefined {
  const stream = findSystemStream(name);
  if (stream === undefined) return undefined;
  const takers = workers.filter(({ takesFragments }) => takesFragments);
  // Without any taker, placement says why there is none.
  if (stream.madeBy === "coordinator" || takers.length === 0) {
    return [systemPhysical(stream, undefined)];
  }
  return takers.map(({ workerId }) => systemPhysical(stream, workerId));
}

interface PlacedName {
  readonly text: string;
  readonly position: Position;
}

/** `undefined`: it is no source of the system. */
export function systemGuarantee({ type, config }: SourceOp): Guarantee | undefined {
  if (type !== systemType) return undefined;
  return systemStreams.find(({ name }) => name === config.STREAM)?.guarantee;
}

export function refuseSystemName({ text, position }: PlacedName): void {
  if (!isSystemName(text)) return;
  throw new DialectError(2029, `${text} is a name of the system: nobody makes or drops it`, {
    position,
    hint: `Names that begin with ${systemPrefix} are those of SHOW LOGICAL SOURCES with the kind SYSTEM.`,
  });
}
