# The lab on the official CANN image of your chip. Build it where the image is:
#
#   docker build -f docker/cann.Dockerfile --build-arg CANN_IMAGE=<the CANN image> -t hardshrink-lab .
#   docker run --rm -p 8888:8888 \
#       --device /dev/davinci0 --device /dev/davinci_manager \
#       --device /dev/devmm_svm --device /dev/hisi_hdc \
#       -v /usr/local/dcmi:/usr/local/dcmi:ro \
#       -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro \
#       -v /usr/local/Ascend/driver/lib64:/usr/local/Ascend/driver/lib64:ro \
#       -v /usr/local/Ascend/driver/version.info:/usr/local/Ascend/driver/version.info:ro \
#       -v /etc/ascend_install.info:/etc/ascend_install.info:ro \
#       hardshrink-lab
#
# The image has CANN, the ops package of one chip, and a Python; the driver is the host's.
ARG CANN_IMAGE
FROM ${CANN_IMAGE}

WORKDIR /opt/hardshrink-lab
COPY . .
RUN python3 -m venv /opt/lab \
    && /opt/lab/bin/pip install --no-cache-dir ".[fast]" \
    && /opt/lab/bin/labkit lab --copy-only /srv/course

ENV PATH=/opt/lab/bin:$PATH
EXPOSE 8888
WORKDIR /srv/course
# A login shell, so that the profile of the image sources set_env.sh; where it does not, we do.
ENTRYPOINT ["/bin/bash", "-lc", \
    "for script in /usr/local/Ascend/{cann,ascend-toolkit}/set_env.sh; do \
        if [ -z \"$ASCEND_HOME_PATH\" ] && [ -f \"$script\" ]; then source \"$script\"; fi; \
    done; \
    exec /opt/lab/bin/jupyter lab --ip=0.0.0.0 --port=8888 --no-browser --allow-root"]
