// What is held back, and of it what still waits for a decision: whoever revoked an origin has decided about what came from it.
export function undecided(memories, origins) {
  const revoked = new Set(origins.filter((one) => one.revoked).map((one) => one.origin));
  return memories.filter((memory) => !revoked.has(memory.origin));
}
