/** A page of the dashboard with a browser profile of its own, and its error messages. */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Browser, Locator, Page } from "playwright-core";

/** The timeout of everything, for a busy machine. */
const patienceMs = 120_000;

export interface DashboardPage extends AsyncDisposable {
  readonly page: Page;
  /** Errors of the console and of scripts, including violations of the content security policy. */
  readonly complaints: string[];
}

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
}

export async function openPage(
  browser: Browser,
  url: string,
  { width = 1280, height = 860, colorScheme = "light" }: PageOptions = {},
): Promise<DashboardPage> {
  // A browser without a language reports "en-US@posix", which is invalid.
  const locale = "en-US";
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, locale });
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(url);
  return { page, complaints, [Symbol.asyncDispose]: async () => await context.close() };
}

/** Asserts that the page does not scroll sideways, after its animations have ended. */
export async function assertFits(page: Page): Promise<void> {
  const wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
  await eventually(async () => await page.evaluate(wider), 0);
}

/** Waits until `get` returns `want`. */
export async function eventually<T>(get: () => Promise<T>, want: T): Promise<void> {
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    const got = await get();
    if (isDeepStrictEqual(got, want)) return;
    if (performance.now() > deadlineMs) assert.deepEqual(got, want);
    await setTimeout(50);
  }
}

/** Presses keys without a round trip to the browser for each. */
export async function pressInARow(page: Page, keys: readonly string[]): Promise<void> {
  await Promise.all(keys.map((key) => page.keyboard.press(key)));
}

/**
 * Takes the first completion. The editor ignores a key right after an offer has appeared or
 * changed: then the key is pressed again.
 */
export async function complete(page: Page, editor: Locator, wanted: string): Promise<void> {
  const offered = page.locator('.cm-tooltip-autocomplete [aria-selected="true"]').getByText(wanted);
  for (;;) {
    await offered.waitFor();
    await setTimeout(200);
    await page.keyboard.press("Enter");
    for (let look = 0; look < 50; look += 1) {
      if ((await editor.textContent()) === wanted) return;
      await setTimeout(20);
    }
    await editor.click();
    await page.keyboard.press("Control+Space");
  }
}

/** Drops the console lines of refused requests and WebSockets, which such a test provokes. */
export function withoutRefusals(complaints: readonly string[]): readonly string[] {
  return complaints.filter((text) => !/^(Failed to load resource|WebSocket connection)/.test(text));
}
