/**
 * Nexmark's events as three CSV files: of every 50 events one is a person, three are auctions and
 * 46 are bids, of about 200, 500 and 100 bytes. The rules are those of Nexmark's generator with its
 * defaults: half of the bids go to hot auctions, three in four come from hot bidders, three in four
 * auctions belong to hot sellers, and 10,000 events happen a second, in the order of their times.
 * The same number of events gives the same files.
 */
import { closeSync, existsSync, openSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createPrng, type Prng } from "../../src/ground/kernel/prng.ts";

export interface NexmarkFiles {
  readonly person: string;
  readonly auction: string;
  readonly bid: string;
}

export type NexmarkSource = keyof NexmarkFiles;

const shares: Readonly<Record<NexmarkSource, number>> = { person: 1, auction: 3, bid: 46 };
const cycle = 50;
const eventsPerMs = 10;
const firstTimeMs = 1_700_000_000_000;
const firstId = 1_000;
const activePeople = 1_000;
const auctionsInFlight = 100;
const bytesPerWrite = 4 * 1_024 * 1_024;

const states = ["AZ", "CA", "ID", "OR", "WA", "WY"];
const cities = ["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Seattle"];
const firstNames = ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah"];
const lastNames = ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones"];
const hotChannels = ["Google", "Facebook", "Baidu", "Apple"];

/** The number of an event, and when it happens. */
interface Moment {
  readonly number: number;
  readonly timeMs: number;
}

/** How many events of a kind are among the first `events`. */
export function countOf(source: NexmarkSource, events: number): number {
  return Math.floor(events / cycle) * shares[source];
}

/** Writes the files, or finds them where an earlier run has left them. */
export function writeNexmarkFiles(directory: string, events: number): NexmarkFiles {
  const of = (source: NexmarkSource): string => join(directory, `${source}-${events}.csv`);
  const files = { person: of("person"), auction: of("auction"), bid: of("bid") };
  if (Object.values(files).every((path) => existsSync(path))) return files;
  const prng = createPrng("nexmark");
  const filler = fillerOf(prng);
  const out = {
    person: new CsvFile(files.person),
    auction: new CsvFile(files.auction),
    bid: new CsvFile(files.bid),
  };
  const whole = Math.floor(events / cycle) * cycle;
  for (let number = 0; number < whole; number += 1) {
    const moment = { number, timeMs: firstTimeMs + Math.floor(number / eventsPerMs) };
    const place = number % cycle;
    if (place < shares.person) out.person.add(personOf(moment, prng, filler));
    else if (place < shares.person + shares.auction) {
      out.auction.add(auctionOf(moment, prng, filler));
    } else out.bid.add(bidOf(moment, prng, filler));
  }
  for (const file of Object.values(out)) file.close();
  return files;
}

function personOf({ number, timeMs }: Moment, prng: Prng, filler: Filler): string {
  const id = lastPerson(number);
  const first = pick(firstNames, prng);
  const last = pick(lastNames, prng);
  const card = Array.from({ length: 4 }, () => 1_000 + prng.below(9_000)).join(" ");
  const email = `${filler(7, prng)}@${filler(5, prng)}.com`;
  const city = pick(cities, prng);
  const state = pick(states, prng);
  const known = `${id},${first} ${last},${email},${card},${city},${state},${timeMs},`;
  return known + filler(200 - known.length, prng);
}

function auctionOf({ number, timeMs }: Moment, prng: Prng, filler: Filler): string {
  const id = lastAuction(number);
  const hot = prng.below(4) > 0;
  const newest = lastPerson(number);
  const seller = hot ? hotOf(newest) : recent(newest, activePeople, prng);
  const initial = priceOf(prng);
  const reserve = initial + priceOf(prng);
  const expires = timeMs + 1 + prng.below(20_000);
  const category = 10 + prng.below(5);
  const item = filler(20, prng);
  const about = filler(100, prng);
  const known = `${id},${item},${about},${initial},${reserve},${timeMs},${expires},${seller},${category},`;
  return known + filler(500 - known.length, prng);
}

function bidOf({ number, timeMs }: Moment, prng: Prng, filler: Filler): string {
  const newestAuction = lastAuction(number);
  const auction =
    prng.below(2) > 0 ? hotOf(newestAuction) : recent(newestAuction, auctionsInFlight, prng);
  const newestPerson = lastPerson(number);
  const bidder =
    prng.below(4) > 0 ? hotOf(newestPerson) + 1 : recent(newestPerson, activePeople, prng);
  const hot = prng.below(2) > 0;
  const channelNumber = prng.below(10_000);
  const channel = hot ? pick(hotChannels, prng) : `channel-${channelNumber}`;
  const url = `https://nexmark.com/${filler(5, prng)}/item.htm?c=${channelNumber}`;
  const known = `${auction},${bidder},${priceOf(prng)},${channel},${url},${timeMs},`;
  return known + filler(Math.max(4, 100 - known.length), prng);
}

/** Ids grow by one with each person and each auction. */
function lastPerson(number: number): number {
  return firstId + Math.floor(number / cycle);
}

function lastAuction(number: number): number {
  const inCycle = Math.min(Math.max((number % cycle) - 1, 0), shares.auction - 1);
  return firstId + Math.floor(number / cycle) * shares.auction + inCycle;
}

/** The one of each hundred that most go to. */
function hotOf(newest: number): number {
  return Math.floor(newest / 100) * 100;
}

function recent(newest: number, count: number, prng: Prng): number {
  return Math.max(firstId, newest - prng.below(count));
}

/** From 1 to a million, each power of ten as likely as the next, in cents. */
function priceOf(prng: Prng): number {
  return Math.round(10 ** (prng.next() * 6) * 100);
}

function pick(texts: readonly string[], prng: Prng): string {
  return texts[prng.below(texts.length)] as string;
}

type Filler = (length: number, prng: Prng) => string;

/** Letters that look random: pieces of one long text. */
function fillerOf(prng: Prng): Filler {
  const letters = Array.from({ length: 65_536 }, () =>
    String.fromCharCode(97 + prng.below(26)),
  ).join("");
  return (length, draw) => {
    const start = draw.below(letters.length - 1_000);
    return letters.slice(start, start + length);
  };
}

/** A file that has its name only when it is complete. */
class CsvFile {
  readonly #path: string;
  readonly #descriptor: number;
  #lines: string[] = [];
  #length = 0;

  constructor(path: string) {
    this.#path = path;
    this.#descriptor = openSync(`${path}.part`, "w");
  }

  add(line: string): void {
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#length >= bytesPerWrite) this.#write();
  }

  close(): void {
    this.#write();
    closeSync(this.#descriptor);
    renameSync(`${this.#path}.part`, this.#path);
  }

  #write(): void {
    if (this.#lines.length > 0) writeSync(this.#descriptor, `${this.#lines.join("\n")}\n`);
    this.#lines = [];
    this.#length = 0;
  }
}
