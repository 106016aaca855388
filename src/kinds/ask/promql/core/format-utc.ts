import {
  dayOf,
  monthOf,
  msPerDay,
  packedDate,
  yearOf,
} from "../../../../ground/kernel/civil-date.ts";

/** Formats to the second, as in `2024-02-29T12:00:00Z`. */
export function formatUtc(ms: number): string {
  const days = Math.floor(ms / msPerDay);
  const packed = packedDate(days);
  const seconds = Math.floor((ms - days * msPerDay) / 1_000);
  const two = (part: number): string => String(part).padStart(2, "0");
  const date = `${String(yearOf(packed)).padStart(4, "0")}-${two(monthOf(packed))}-${two(dayOf(packed))}`;
  const time = `${two(Math.floor(seconds / 3_600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return `${date}T${time}Z`;
}
