/** The positions in the text of a call and of its arguments. */
import type { AnnotationSet } from "../annotations.ts";
import type { LeafAnnotation } from "../leaf.ts";
import type { AnnotationSink, CallPlace, Position } from "../model.ts";

export interface CallPlaces {
  readonly call: Position;
  readonly args: readonly Position[];
}

export function positionOf(places: CallPlaces, place: CallPlace): Position {
  return place === "call" ? places.call : (places.args[place] ?? places.call);
}

export function sinkAt(annotations: AnnotationSet<Position>, places: CallPlaces): AnnotationSink {
  return {
    add: (level, message, place) => annotations.add(level, message, positionOf(places, place)),
  };
}

export function addLeafAnnotations(
  annotations: AnnotationSet<Position>,
  found: readonly LeafAnnotation[],
  places: CallPlaces,
): void {
  for (const { level, message, place } of found) {
    annotations.add(level, message, positionOf(places, place));
  }
}
