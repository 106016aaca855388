/**
 * What the two sides of a session agree on: a version of the session's own frames, and one for each
 * channel that both support. Pure.
 */

/** A range of supported versions, both ends inclusive. */
export interface Versions {
  readonly oldest: number;
  readonly newest: number;
}

/** A channel of a session, as one side supports it. */
export interface ChannelOffer extends Versions {
  readonly name: string;
}

/** The channels that both sides of a session support, with the version in use. */
export type Channels = ReadonlyMap<string, number>;

/** The versions of the session's own frames. */
export const protocolVersions: Versions = { oldest: 2, newest: 2 };

/** Undefined when there is no common version. */
export function newestCommon(one: Versions, other: Versions): number | undefined {
  const version = Math.min(one.newest, other.newest);
  return version < Math.max(one.oldest, other.oldest) ? undefined : version;
}

/** Leaves out channels that only one side supports, or that have no common version. */
export function commonChannels(
  ours: readonly ChannelOffer[],
  theirs: readonly ChannelOffer[],
): Channels {
  const common = new Map<string, number>();
  for (const own of ours) {
    const other = theirs.find(({ name }) => name === own.name);
    const version = other && newestCommon(own, other);
    if (version !== undefined) common.set(own.name, version);
  }
  return common;
}

export function versionsText({ oldest, newest }: Versions): string {
  return oldest === newest ? `${newest}` : `${oldest} to ${newest}`;
}
