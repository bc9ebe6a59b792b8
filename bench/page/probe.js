// Runs in the page before its own scripts: notes when something was asked for and when the answer was on the screen.
(() => {
  const seen = { answers: [], interactions: new Map(), longTasks: [], inFlight: 0, requests: 0 };
  let began = 0;
  let asked = 0;
  window.seen = seen;
  // The first message after a frame's own work comes when the frame is out.
  const afterFrame = (act) =>
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = act;
      channel.port2.postMessage(null);
    });
  const interact = (event) => {
    began = event.timeStamp;
    asked = 0;
  };
  addEventListener("keydown", interact, true);
  addEventListener("click", interact, true);

  const settle = () => {
    seen.inFlight -= 1;
    if (seen.inFlight || !asked) return;
    const since = began;
    afterFrame(() => {
      // A key that was pressed meanwhile counts from its own moment.
      if (since !== began || seen.inFlight) return;
      seen.answers.push(performance.now() - since);
      asked = 0;
      began = 0;
    });
  };
  const fetchAsIs = window.fetch;
  window.fetch = async (...given) => {
    seen.inFlight += 1;
    seen.requests += 1;
    if (began) asked += 1;
    try {
      const answer = await fetchAsIs(...given);
      const jsonAsIs = answer.json.bind(answer);
      answer.json = () => jsonAsIs().finally(() => setTimeout(settle));
      return answer;
    } catch (error) {
      settle();
      throw error;
    }
  };

  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.interactionId) seen.interactions.set(entry.interactionId, Math.max(entry.duration, seen.interactions.get(entry.interactionId) ?? 0));
    }
  }).observe({ type: "event", durationThreshold: 16, buffered: true });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) seen.longTasks.push(entry.duration);
  }).observe({ type: "longtask", buffered: true });

  seen.frames = (milliseconds) =>
    new Promise((done) => {
      const times = [];
      const began = performance.now();
      let before = null;
      const frame = (now) => {
        if (before !== null) times.push(now - before);
        before = now;
        if (performance.now() - began < milliseconds) requestAnimationFrame(frame);
        else done(times);
      };
      requestAnimationFrame(frame);
    });
})();
