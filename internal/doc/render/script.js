// Two conveniences; the page works without them. The buttons are hidden until
// this runs.
(function () {
  'use strict';
  var root = document.documentElement;

  function dark() {
    return root.dataset.theme
      ? root.dataset.theme === 'dark'
      : window.matchMedia('(prefers-color-scheme: dark)').matches;
  }

  // Where the clipboard may not be written to, a selected text may still be.
  function copyBySelection(text) {
    var area = document.createElement('textarea');
    area.value = text;
    area.className = 'offscreen';
    document.body.appendChild(area);
    area.select();
    var ok = document.execCommand('copy');
    area.remove();
    return ok ? Promise.resolve() : Promise.reject(new Error('copying is not allowed'));
  }

  function copy(text) {
    if (navigator.clipboard && window.isSecureContext) {
      return navigator.clipboard.writeText(text).catch(function () { return copyBySelection(text); });
    }
    return copyBySelection(text);
  }

  document.querySelectorAll('button.copy').forEach(function (button) {
    var label = button.textContent;
    button.hidden = false;
    button.addEventListener('click', function () {
      copy(button.dataset.tsv).then(
        function () { button.textContent = 'Copied'; },
        function () { button.textContent = 'Not allowed here: select the table'; }
      ).then(function () {
        setTimeout(function () { button.textContent = label; }, 2000);
      });
    });
  });

  var toggle = document.querySelector('button.theme');
  toggle.hidden = false;
  toggle.addEventListener('click', function () {
    root.dataset.theme = dark() ? 'light' : 'dark';
  });
})();
