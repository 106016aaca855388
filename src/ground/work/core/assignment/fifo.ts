/**
 * A first-in, first-out queue from whose middle cancelled work leaves at once. It is a linked list,
 * because a queue of 10,000 must not be searched, nor keep what has left it.
 */
export interface FifoNode<T> {
  readonly item: T;
  previous: FifoNode<T> | undefined;
  next: FifoNode<T> | undefined;
  /** Undefined when the node is in no queue. */
  home: Fifo<T> | undefined;
}

export class Fifo<T> {
  #first: FifoNode<T> | undefined;
  #last: FifoNode<T> | undefined;

  push(item: T): FifoNode<T> {
    const node: FifoNode<T> = { item, previous: this.#last, next: undefined, home: this };
    if (this.#last === undefined) this.#first = node;
    else this.#last.next = node;
    this.#last = node;
    return node;
  }

  /** Undefined when empty. */
  peek(): T | undefined {
    return this.#first?.item;
  }

  /** Idempotent. */
  remove(node: FifoNode<T>): void {
    if (node.home !== this) return;
    node.home = undefined;
    if (node.previous === undefined) this.#first = node.next;
    else node.previous.next = node.next;
    if (node.next === undefined) this.#last = node.previous;
    else node.next.previous = node.previous;
  }
}
