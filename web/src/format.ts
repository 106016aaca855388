/** Formats numbers and times for people. Every function shows an unknown value as a dash. */
export const unknown = "–";

type Known = number | null | undefined;

const integer = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export function formatCount(count: Known): string {
  return isKnown(count) ? integer.format(count) : unknown;
}

export function formatBytes(bytes: Known): string {
  if (!isKnown(bytes)) return unknown;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let amount = bytes;
  let unit = 0;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${amount.toFixed(unit === 0 || amount >= 100 ? 0 : 1)} ${units[unit]}`;
}

export function formatPercent(ratio: Known): string {
  return isKnown(ratio) ? `${Math.round(ratio * 100)} %` : unknown;
}

export function formatDuration(ms: Known): string {
  if (!isKnown(ms)) return unknown;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Three significant digits: latencies range from fractions of a millisecond to minutes. */
export function formatLatency(ms: Known): string {
  if (!isKnown(ms)) return unknown;
  if (ms >= 60_000) return formatDuration(ms);
  return ms >= 1_000 ? `${digits(ms / 1_000)} s` : `${digits(ms)} ms`;
}

/** Operations per second. */
export function formatRate(perSecond: Known): string {
  if (!isKnown(perSecond)) return unknown;
  return perSecond >= 100 ? integer.format(perSecond) : digits(perSecond);
}

/** A share in percent, however small: one error in a million is not shown as 0. */
export function formatShare(percent: Known): string {
  return isKnown(percent) ? `${percent >= 100 ? percent.toFixed(0) : digits(percent)} %` : unknown;
}

function digits(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/** Whole seconds: a fraction would only flicker. */
export function formatUptime(ms: Known): string {
  return isKnown(ms) && ms < 60_000 ? `${Math.floor(ms / 1_000)} s` : formatDuration(ms);
}

export function formatAgo(ms: Known): string {
  if (!isKnown(ms)) return unknown;
  if (ms < 10_000) return `${(Math.max(0, ms) / 1_000).toFixed(1)} s ago`;
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s ago`;
  return `${formatDuration(ms)} ago`;
}

/** Whole seconds, with few digits, because the value changes constantly. */
export function formatLag(ms: Known): string {
  if (!isKnown(ms)) return unknown;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60)
    return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return hours % 24 === 0 ? `${hours / 24} d` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** One unit is enough in a sorted list. */
export function formatAge(ms: Known): string {
  if (!isKnown(ms)) return unknown;
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  return seconds < 172_800
    ? `${Math.floor(seconds / 3_600)} h ago`
    : `${Math.floor(seconds / 86_400)} d ago`;
}

export function formatClock(atMs: number): string {
  return new Date(atMs).toLocaleTimeString("en-GB");
}

export function formatMoment(atMs: number): string {
  return new Date(atMs).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

/** A number that a worker reported: it arrives as text. */
export function factNumber(
  facts: Readonly<Record<string, string>> | undefined,
  name: string,
): number | undefined {
  const text = facts?.[name];
  const value = text === undefined || text === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
}

export function plural(count: Known, noun: string): string {
  const many = /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${formatCount(count)} ${count === 1 ? noun : many}`;
}

function isKnown(value: Known): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}
